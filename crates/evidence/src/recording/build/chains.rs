//! Chains of calls, kept for pictures.

use super::Builder;
use crate::recording::Stacks;

/// Most events of a machine of which chains of calls are kept.
const STACKS_MAX: usize = 8;

impl Builder {
    /// Keeps chains of calls of an event, with those that are known of it.
    pub(crate) fn stacks(&mut self, stacks: Stacks) {
        if self.source.is_none() || stacks.folded.is_empty() {
            return;
        }
        let host = self.current_host();
        let Some(host) = self.out.hosts.get_mut(host) else { return };
        if let Some(known) = host.stacks.iter_mut().find(|known| known.event == stacks.event) {
            known.join(stacks);
        } else if host.stacks.len() < STACKS_MAX {
            host.stacks.push(stacks);
        }
    }
}
