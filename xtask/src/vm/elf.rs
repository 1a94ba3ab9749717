//! Whether a program runs where there is nothing but a kernel.

/// True for a 64-bit little-endian ELF file that asks for no dynamic linker (`PT_INTERP`).
pub fn is_static(bytes: &[u8]) -> bool {
    const PT_INTERP: u64 = 3;
    if !bytes.starts_with(b"\x7fELF\x02\x01") {
        return false;
    }
    let number = |at: u64, size: usize| -> Option<u64> {
        let at = usize::try_from(at).ok()?;
        let field = bytes.get(at..at.checked_add(size)?)?;
        Some(field.iter().rev().fold(0, |sum, &byte| (sum << 8) | u64::from(byte)))
    };
    let (Some(table), Some(size), Some(count)) = (number(32, 8), number(54, 2), number(56, 2))
    else {
        return false;
    };
    (0..count).all(|i| number(table.saturating_add(i * size), 4).is_some_and(|t| t != PT_INTERP))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn program(kinds: &[u8]) -> Vec<u8> {
        let mut bytes = vec![0; 64];
        bytes[..6].copy_from_slice(b"\x7fELF\x02\x01");
        bytes[32] = 64;
        bytes[54] = 56;
        bytes[56] = u8::try_from(kinds.len()).unwrap();
        for &kind in kinds {
            bytes.push(kind);
            bytes.resize(bytes.len() + 55, 0);
        }
        bytes
    }

    #[test]
    fn an_interpreter_makes_a_program_dynamic() {
        assert!(is_static(&program(&[6, 1, 2])));
        assert!(!is_static(&program(&[6, 3, 1])));
        assert!(!is_static(b"#!/bin/sh\n"));
        assert!(!is_static(&program(&[1, 1])[..70]));
    }
}
