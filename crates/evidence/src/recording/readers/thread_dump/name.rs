//! Names of threads and methods as they may be shown: without addresses, requests and users that
//! programs put into the names of their threads, and without numbers where the pool is meant.

use super::super::served::short;

/// Longest name of a thread that is read.
const NAME_BYTES_MAX: usize = 400;

/// Longest name of a method that is shown: package, class and method.
const METHOD_CHARS_MAX: usize = 100;

/// A number with more digits is no place in a pool: `qtp1830908236` has a hash.
const PLACE_DIGITS_MAX: usize = 5;

/// Whether a word of a name may say what the thread serves: a path, an address, a value.
fn is_private(word: &str) -> bool {
    // Words of names, such as `New I/O worker #3`.
    if word == "I/O" {
        return false;
    }
    let dots = word.bytes().filter(|byte| *byte == b'.').count();
    let digits = word.bytes().filter(u8::is_ascii_digit).count();
    let address = dots >= 3 && digits >= 4;
    word.contains(['/', '\\', '?', '=', '@', '<', '>', '%', '&', '{', ',']) || address
}

/// What follows a closing bracket and no blank is the peer: `RMI TCP Connection(5)-10.1.2.3`.
fn without_peer(name: &str) -> &str {
    let peer = name.rfind(")-").or_else(|| name.rfind("]-"));
    peer.map_or(name, |at| &name[..=at])
}

/// The name of a thread as it may be shown: what it serves left out.
pub(super) fn shown(name: &str) -> String {
    short(&clean(name))
}

/// The same, however long.
fn clean(name: &str) -> String {
    // One that is longer is made of what it serves.
    let name = if name.len() > NAME_BYTES_MAX { "" } else { without_peer(name) };
    // WebLogic puts the state of the thread before its name: `[ACTIVE] ExecuteThread: '12' ...`.
    let name = name.strip_prefix('[').and_then(|rest| rest.split_once("] ")).map_or(name, |s| s.1);
    let words = name.split_whitespace().take_while(|word| !is_private(word));
    let text = words.collect::<Vec<_>>().join(" ");
    let text: String = text.chars().filter(|c| !c.is_control()).collect();
    let text = text.trim_end_matches([' ', ':', '-', '|', '(', '[', '#']);
    if text.is_empty() { "a thread".to_owned() } else { text.to_owned() }
}

/// The pool of a thread: its name without its place in the pool.
pub(super) fn pool(name: &str) -> String {
    let cleaned = clean(name);
    // `ExecuteThread: '12' for queue: 'default'`: the place stands in the middle.
    let quoted = cleaned.split_once('\'').and_then(|(before, rest)| {
        let (number, after) = rest.split_once('\'')?;
        number.parse::<u32>().ok().map(|_| format!("{}{after}", before.trim_end()))
    });
    let name = quoted.unwrap_or_else(|| cleaned.clone());
    // `Camel thread #12 - timer`: what follows the place is the task.
    let name = name.split_once(" #").map_or(name.as_str(), |(before, _)| before);
    let bare = without_place(name.trim_end_matches([')', ']']));
    let bare = bare.unwrap_or(name).trim_end_matches('-');
    // `qtp1830908236-31`: what is left ends with the hash of the pool's object.
    let hash = bare.bytes().rev().take_while(u8::is_ascii_digit).count();
    let bare = if hash > PLACE_DIGITS_MAX { &bare[..bare.len() - hash] } else { bare };
    let bare = bare.trim_end_matches([' ', '-', '_', '#', ':', '.', '(', '[', '@', '|']);
    if bare.is_empty() { "numbered threads".to_owned() } else { short(bare) }
}

/// The name without the number at its end; `None` where there is none.
fn without_place(name: &str) -> Option<&str> {
    let digits = name.bytes().rev().take_while(u8::is_ascii_digit).count();
    (digits > 0).then(|| &name[..name.len() - digits])
}

/// A method as people know it: no hashes of classes made at run time, no numbers of lambdas.
pub(super) fn method(frame: &str) -> String {
    let (class, method) = frame.rsplit_once('.').unwrap_or(("", frame));
    let class = class.split("$$").next().unwrap_or_default();
    let class = class.trim_end_matches(|c: char| c.is_ascii_digit());
    let class = class.trim_end_matches('$');
    // `lambda$find$3` is the code of a lambda inside of find.
    let inner = method.strip_prefix("lambda$").and_then(|rest| rest.rsplit_once('$'));
    let method = inner.map_or(method, |(name, _)| name);
    let method = if method.is_empty() { "?" } else { method };
    let dot = if class.is_empty() { "" } else { "." };
    format!("{class}{dot}{method}").chars().take(METHOD_CHARS_MAX).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn pools_are_names_without_places() {
        for (name, wanted) in [
            ("http-nio-8080-exec-12", "http-nio-8080-exec"),
            ("pool-3-thread-17", "pool-3-thread"),
            ("ForkJoinPool.commonPool-worker-3", "ForkJoinPool.commonPool-worker"),
            ("qtp1830908236-31", "qtp"),
            ("XNIO-1 task-5", "XNIO-1 task"),
            ("WebContainer : 12", "WebContainer"),
            ("default task-12", "default task"),
            ("main", "main"),
            ("I/O dispatcher 12", "I/O dispatcher"),
            ("New I/O server boss #1 ([id: 0x4364cbbb, /0.0.0.0:6734])", "New I/O server boss"),
            ("http-listener-1(12)", "http-listener-1"),
            ("RMI TCP Connection(5)-10.1.2.3", "RMI TCP Connection"),
            (
                "[ACTIVE] ExecuteThread: '12' for queue: 'weblogic.kernel.Default (self-tuning)'",
                "ExecuteThread: for queue: 'weblogic.kernel.Default (self-tun\u{2026}",
            ),
            ("Camel (camel-1) thread #12 - timer://x", "Camel (camel-1) thread"),
            ("nioEventLoopGroup-3-2", "nioEventLoopGroup-3"),
            ("GC task thread#0 (ParallelGC)", "GC task thread#0 (ParallelGC)"),
            ("12", "numbered threads"),
        ] {
            assert_eq!(pool(name), wanted, "{name}");
        }
    }

    #[test]
    fn what_a_thread_serves_is_not_shown() {
        for (name, wanted) in [
            ("qtp12-45 /api/login?user=jo&token=x", "qtp12-45"),
            ("exec-5 user=jo", "exec-5"),
            ("worker jo@example.com", "worker"),
            ("http-bio-10.1.2.3-8080", "a thread"),
            ("RMI TCP Connection(5)-10.1.2.3", "RMI TCP Connection(5"),
            ("OkHttp https://shop.example/pay", "OkHttp"),
            ("", "a thread"),
        ] {
            assert_eq!(shown(name).trim_end_matches(')'), wanted, "{name}");
        }
    }

    #[test]
    fn methods_are_named_as_in_their_source() {
        for (frame, wanted) in [
            ("com.shop.Dao.find", "com.shop.Dao.find"),
            ("com.shop.Dao$1.run", "com.shop.Dao.run"),
            ("com.shop.Dao.lambda$find$3", "com.shop.Dao.find"),
            ("com.shop.Main$$Lambda$14/0x0000000800c03000.run", "com.shop.Main.run"),
            ("com.shop.Dao$$EnhancerBySpringCGLIB$$1f2e.find", "com.shop.Dao.find"),
            ("main", "main"),
        ] {
            assert_eq!(method(frame), wanted, "{frame}");
        }
    }
}
