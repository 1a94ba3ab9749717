//! The parts of a response time, each defined once.

use serde::Serialize;

macro_rules! parts {
    ($($variant:ident $key:literal $hop:ident $name:literal, $means:literal;)*) => {
        /// A part of the time of a request. All parts of one request add up to its whole time.
        #[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
        pub enum Part {
            $(#[doc = $name] $variant,)*
        }

        impl Part {
            /// All of them, in the order of a request.
            pub const ALL: [Self; COUNT] = [$(Self::$variant,)*];

            /// Its name in JSON.
            pub const fn key(self) -> &'static str {
                match self { $(Self::$variant => $key,)* }
            }

            /// Its name in a sentence.
            pub const fn name(self) -> &'static str {
                match self { $(Self::$variant => $name,)* }
            }

            /// What is likely where time is added in it, and what it does not tell apart.
            pub const fn means(self) -> &'static str {
                match self { $(Self::$variant => $means,)* }
            }

            /// Where it passes.
            pub(crate) const fn hop(self) -> Hop {
                match self { $(Self::$variant => Hop::$hop,)* }
            }
        }
    };
}

/// How many parts there are.
pub(super) const COUNT: usize = 10;

/// Where a part of the time passes.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Serialize)]
#[serde(rename_all = "snake_case")]
pub enum Hop {
    /// Between the client and the server that wrote the log.
    Client,
    /// In the server that wrote the log.
    Proxy,
    /// Between it and the upstream.
    Connection,
    /// In the upstream.
    Upstream,
    /// The log does not tell which.
    Unknown,
}

parts! {
    // HAProxy's TR: from the first byte of the request to its last header.
    Receive "receive_request" Client "receiving the request from the client",
        "clients sent their requests slowly, or the way from them is slow";
    // HAProxy's Tw, nginx's $upstream_queue_time.
    Queue "queue" Proxy "waiting in the proxy's queue",
        "the proxy sends no more at a time to a server that takes no more (HAProxy's maxconn)";
    // nginx: all tries before the last one, as $upstream_response_time lists them.
    EarlierTries "earlier_tries" Upstream "tries of an upstream before the last one",
        "an upstream failed or timed out, and the next one was asked";
    // HAProxy's Tc, nginx's $upstream_connect_time.
    Connect "connect" Connection "connecting to the upstream",
        "the upstream took connections late: packets lost or late, or its queue of new \
        connections full";
    // HAProxy's Tr, nginx's $upstream_header_time without connecting.
    FirstByte "first_byte" Upstream "waiting for the upstream's first byte",
        "the upstream took longer to answer: its own work, or waiting within it";
    // nginx's $upstream_response_time behind the headers.
    Body "upstream_body" Connection "receiving the upstream's body",
        "the upstream sent its answer slowly, or the client took it slowly and the proxy's \
        buffers were full";
    // Where the log has one time for the upstream.
    Upstream "upstream" Upstream "the upstream, with the connection to it",
        "the upstream took longer: connecting to it, its own work, or waiting within it";
    // Apache's %^FB.
    Server "server" Proxy "the server and what is behind it, until the first byte",
        "the server took longer to begin its answer: its own work, or what is behind it";
    // HAProxy's Td, and Apache's time behind %^FB.
    Transfer "transfer" Client "transfer to the client",
        "the answer went out slowly: the client, the way to it, or an upstream that sends \
        slowly";
    // The whole time where the log has no other.
    Rest "rest" Unknown "what is left: client or proxy",
        "outside of the upstream: receiving the request, the proxy itself, or a client \
        that takes the answer slowly";
}

impl Serialize for Part {
    fn serialize<S: serde::Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        serializer.serialize_str(self.key())
    }
}

/// The times of all parts of a request, or of many, in microseconds.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(super) struct Parts([u64; COUNT]);

impl Parts {
    /// The time of a part.
    pub(super) fn get(&self, part: Part) -> u64 {
        self.0.get(part as usize).copied().unwrap_or(0)
    }

    /// Adds to a part.
    pub(super) fn add(&mut self, part: Part, us: u64) {
        if let Some(own) = self.0.get_mut(part as usize) {
            *own = own.saturating_add(us);
        }
    }

    /// Adds all parts of others.
    pub(super) fn merge(&mut self, other: &Self) {
        Part::ALL.iter().for_each(|part| self.add(*part, other.get(*part)));
    }

    /// The sum of all parts.
    pub(super) fn sum(&self) -> u64 {
        self.0.iter().fold(0, |sum, part| sum.saturating_add(*part))
    }

    /// Makes the sum of all parts `total_us`: what is missing goes to `rest`; what is too much, as
    /// clocks of a millisecond have it, is taken from the largest. Returns what was too much.
    pub(super) fn fit(&mut self, total_us: u64, rest: Part) -> u64 {
        let sum = self.sum();
        self.add(rest, total_us.saturating_sub(sum));
        let excess = sum.saturating_sub(total_us);
        let mut left = excess;
        while let Some(largest) = self.0.iter_mut().max().filter(|_| left > 0) {
            let less = left.min(*largest);
            *largest -= less;
            left -= less;
        }
        excess
    }
}

/// Which parts a log tells.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(super) struct PartSet(u16);

impl PartSet {
    /// With one more.
    pub(super) const fn insert(&mut self, part: Part) {
        self.0 |= 1 << part as u16;
    }

    /// Whether it has this one.
    pub(super) const fn has(self, part: Part) -> bool {
        self.0 & (1 << part as u16) != 0
    }

    /// Whether it has none.
    pub(super) const fn is_empty(self) -> bool {
        self.0 == 0
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn keys_are_unique_and_in_order() {
        let mut keys = Part::ALL.map(Part::key).to_vec();
        assert!(Part::ALL.is_sorted());
        keys.sort_unstable();
        keys.dedup();
        assert_eq!(keys.len(), COUNT);
    }

    #[test]
    fn parts_add_up_to_the_whole() {
        let mut parts = Parts::default();
        parts.add(Part::Connect, 3000);
        parts.add(Part::FirstByte, 9000);
        assert_eq!(parts.fit(20_000, Part::Rest), 0);
        assert_eq!((parts.get(Part::Rest), parts.sum()), (8000, 20_000));
        let mut parts = Parts::default();
        parts.add(Part::Connect, 3000);
        parts.add(Part::FirstByte, 9000);
        assert_eq!(parts.fit(2000, Part::Rest), 10_000);
        assert_eq!((parts.sum(), parts.fit(0, Part::Rest)), (2000, 2000));
    }
}
