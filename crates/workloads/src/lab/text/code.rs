//! A program that is made of numbers: functions all over its text, each of which goes on to the
//! next, and a loop that asks how far.
//!
//! Text is placed at a multiple of a huge page in memory and in the file, as
//! `-z max-page-size=2097152` of a linker does. It reads a number from its input, calls so many
//! functions, from where it stopped, writes the sum of what they add, and starts anew; it ends with
//! its input. Bytes: Intel 64 manual, volume 2; form of the file: elf(5).

use super::super::kit::{HUGE, stamp};

/// Bytes of a function: those of a cache line.
pub(super) const FUNCTION: usize = 64;
/// Functions whose place the loop takes.
const LOOP: usize = 2;
/// Address of the text. Its offset in the file is a huge page.
const BASE: u64 = 0x4000_0000;
/// What is never reached: `int3`.
const FILLER: u8 = 0xcc;

/// How many functions so many bytes of text have.
pub(super) const fn functions(bytes: usize) -> usize {
    bytes / FUNCTION - LOOP
}

/// What a function adds, as the sign-extended operand that it is.
pub(super) fn adds(function: usize) -> u64 {
    stamp(function as u64) >> 33
}

/// Where a function is, in the text.
const fn place(function: usize) -> usize {
    (function + LOOP) * FUNCTION
}

/// Instructions in their order, and where they stand.
struct Code {
    at: usize,
    bytes: Vec<u8>,
}

impl Code {
    fn new(at: usize) -> Self {
        Self { at, bytes: Vec::with_capacity(FUNCTION) }
    }

    fn put(&mut self, bytes: &[u8]) {
        self.bytes.extend_from_slice(bytes);
    }

    /// An instruction that ends with the distance to a place in the text.
    fn to(&mut self, bytes: &[u8], place: usize) {
        self.put(bytes);
        let next = self.at + self.bytes.len() + 4;
        // Modulo 2 to the power 64, whose lower half is the distance: text has 1 GiB at most.
        let distance = (place as u64).wrapping_sub(next as u64);
        self.put(&distance.to_le_bytes()[..4]);
    }
}

/// `r8`: calls that are left; `r9`: the sum; `r10`: the next function.
fn function(at: usize, adds: u64, next: usize, done: usize) -> Vec<u8> {
    let mut code = Code::new(at);
    code.put(&[0x49, 0x81, 0xc1]); // add r9, ...
    code.put(&u32::try_from(adds).unwrap_or(0).to_le_bytes());
    code.put(&[0x49, 0xff, 0xc8]); // dec r8
    code.put(&[0x74, 0x05]); // jz over the next one
    code.to(&[0xe9], next); // jmp
    code.to(&[0x4c, 0x8d, 0x15], next); // lea r10, [rip + ...]
    code.to(&[0xe9], done); // jmp
    code.bytes
}

/// The loop, from the beginning of the text on, and where a function goes back to it.
fn main_loop(first: usize) -> (Vec<u8>, usize) {
    let buffer_of_8 = [0x48, 0x89, 0xe6, 0xba, 8, 0, 0, 0]; // mov rsi, rsp; mov edx, 8
    let mut code = Code::new(0);
    code.put(&[0x48, 0x83, 0xec, 0x20]); // sub rsp, 32
    code.to(&[0x4c, 0x8d, 0x15], first); // lea r10, [rip + ...]
    let again = code.bytes.len();
    code.put(&[0x31, 0xc0, 0x31, 0xff]); // xor eax, eax (read); xor edi, edi
    code.put(&buffer_of_8);
    code.put(&[0x0f, 0x05]); // syscall
    code.put(&[0x48, 0x83, 0xf8, 0x08]); // cmp rax, 8
    code.put(&[0x74, 0x09]); // je over the end
    code.put(&[0xb8, 60, 0, 0, 0, 0x31, 0xff, 0x0f, 0x05]); // mov eax, 60 (exit); edi 0; syscall
    code.put(&[0x4c, 0x8b, 0x04, 0x24]); // mov r8, [rsp]
    code.put(&[0x45, 0x31, 0xc9]); // xor r9d, r9d
    code.put(&[0x41, 0xff, 0xe2]); // jmp r10
    let done = code.bytes.len();
    code.put(&[0x4c, 0x89, 0x0c, 0x24]); // mov [rsp], r9
    code.put(&[0xb8, 1, 0, 0, 0, 0xbf, 1, 0, 0, 0]); // mov eax, 1 (write); mov edi, 1
    code.put(&buffer_of_8);
    code.put(&[0x0f, 0x05]); // syscall
    code.to(&[0xe9], again); // jmp
    (code.bytes, done)
}

/// Text of so many bytes, whose functions are called in this order, which begins with any; what
/// each adds.
pub(super) fn text(bytes: usize, order: &[u32], adds: &dyn Fn(usize) -> u64) -> Vec<u8> {
    let mut text = vec![FILLER; bytes];
    let first = order.first().copied().unwrap_or(0) as usize;
    let (main, done) = main_loop(place(first));
    text[..main.len()].copy_from_slice(&main);
    let nexts = order.iter().skip(1).chain(order.first());
    for (this, next) in order.iter().zip(nexts) {
        let (this, next) = (*this as usize, *next as usize);
        let code = function(place(this), adds(this), place(next), done);
        text[place(this)..place(this) + code.len()].copy_from_slice(&code);
    }
    text
}

/// Where the text is in the file.
pub(super) const OFFSET: u64 = HUGE as u64;

/// The beginning of the file, for text of so many bytes.
pub(super) fn header(bytes: usize) -> Vec<u8> {
    let mut header = Vec::new();
    // 64 bits, little-endian, version 1, System V; then padding.
    header.extend_from_slice(b"\x7fELF\x02\x01\x01\0\0\0\0\0\0\0\0\0");
    let half = |header: &mut Vec<u8>, value: u16| header.extend_from_slice(&value.to_le_bytes());
    let word = |header: &mut Vec<u8>, value: u64, bytes: usize| {
        header.extend_from_slice(&value.to_le_bytes()[..bytes]);
    };
    // A program with a fixed address, of x86-64; version, entry, headers of segments, of sections,
    // flags.
    half(&mut header, 2);
    half(&mut header, 62);
    word(&mut header, 1, 4);
    word(&mut header, BASE, 8);
    word(&mut header, 64, 8);
    word(&mut header, 0, 8);
    word(&mut header, 0, 4);
    // Sizes: of this header, of one of a segment, and how many; of sections there are none.
    for value in [64, 56, 2, 0, 0, 0] {
        half(&mut header, value);
    }
    // Loaded, to be read and executed; then a stack that is not executed.
    let len = bytes as u64;
    let segments = [
        (1, 5, [OFFSET, BASE, BASE, len, len, HUGE as u64]),
        (0x6474_e551, 6, [0, 0, 0, 0, 0, 16]),
    ];
    for (kind, flags, values) in segments {
        word(&mut header, kind, 4);
        word(&mut header, flags, 4);
        values.into_iter().for_each(|value| word(&mut header, value, 8));
    }
    header
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn functions_lead_to_the_next_and_back() {
        let code = function(128, 7, 256, 40);
        assert!(code.len() <= FUNCTION);
        // The jump ends at 128 + 17, and the next function is at 256.
        assert_eq!(code[12], 0xe9);
        assert_eq!(code[13..17], (256_i32 - 145).to_le_bytes());
        assert_eq!(code[25..29], (40_i32 - 157).to_le_bytes());
        let (main, done) = main_loop(128);
        assert!(main.len() <= LOOP * FUNCTION && done < main.len());
        assert_eq!(header(HUGE).len(), 64 + 2 * 56);
        assert!((0..1000).all(|function| adds(function) < 1 << 31));
    }
}
