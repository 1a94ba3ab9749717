//! Local time.

use std::mem::MaybeUninit;

/// Local time less UTC at a moment (seconds since 1970-01-01 UTC), in seconds: what `TZ` or
/// `/etc/localtime` say. `None` for a moment outside the C library's years.
pub fn utc_offset_s(unix_s: i64) -> Option<i64> {
    let mut parts = MaybeUninit::<libc::tm>::uninit();
    // SAFETY: both pointers are valid for the call, which keeps neither. It reads TZ from the
    // environment, which no thread of this program ever changes.
    // WHY UNSAFE: neither std nor rustix knows time zones.
    let done = unsafe { libc::localtime_r(&raw const unix_s, parts.as_mut_ptr()) };
    if done.is_null() {
        return None;
    }
    // SAFETY: a result that is not null says that `parts` was filled in.
    // WHY UNSAFE: it was filled in by C.
    let parts = unsafe { parts.assume_init() };
    Some(parts.tm_gmtoff)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn offsets_are_less_than_a_day() {
        let now = std::time::SystemTime::now().duration_since(std::time::UNIX_EPOCH);
        let now = now.map_or(0, |since| i64::try_from(since.as_secs()).unwrap_or(0));
        assert!(utc_offset_s(now).is_some_and(|offset| offset.abs() <= 26 * 3600));
        assert_eq!(utc_offset_s(i64::MAX), None);
    }
}
