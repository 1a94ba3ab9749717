//! What tells the size of a machine's base pages.

use super::Builder;
use crate::recording::base_page::{ASSUMED, SizeSource, of_machine, varies};
use hugewise_base::units::Bytes;

impl Builder {
    /// Something tells the size of a base page.
    pub(crate) fn base_page(&mut self, told: SizeSource, bytes: Bytes) {
        if self.closed {
            return;
        }
        let host = self.current_host();
        if let Some(host) = self.out.hosts.get_mut(host) {
            host.told_base_page(told, bytes);
        }
    }

    /// A setting in KiB of which the number of base pages is known: it waits for their size.
    pub(crate) fn setting_in_pages(&mut self, name: &str, pages: u64) {
        let kib = |page: Bytes| pages.saturating_mul(page.0 >> 10).to_string();
        self.setting(name, &kib(ASSUMED.base));
        if self.closed {
            return;
        }
        let host = self.current_host();
        if let Some(host) = self.out.hosts.get_mut(host) {
            host.settings_in_pages.insert(name.to_owned(), pages);
        }
    }

    /// The architecture is called so.
    pub(crate) fn machine(&mut self, name: &str) {
        if let Some(bytes) = of_machine(name) {
            self.base_page(SizeSource::Machine, bytes);
        } else if varies(name) && !self.closed {
            let host = self.current_host();
            if let Some(host) = self.out.hosts.get_mut(host) {
                host.several_page_sizes = true;
            }
        }
    }
}
