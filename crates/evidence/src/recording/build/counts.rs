//! What two looks at the same count, or at the same program, say.

use super::Builder;
use crate::recording::{Field, Subject};

impl Builder {
    /// How much a count grew in a second since the previous sample, where the time in between is
    /// known: from the age that its source gives, else from what was typed. For counts whose source
    /// says their age, or whose rate is in another unit.
    pub fn grown(
        &mut self,
        field: Field,
        subject: &Subject,
        value: (f64, Option<f64>),
    ) -> Option<f64> {
        // What is left out of the recording is not remembered either.
        if self.full {
            return None;
        }
        let host = self.current_host();
        self.samples.rate(host, field, subject, value)
    }

    /// What a count of the machine was in the previous sample.
    pub fn counted(&self, field: Field) -> Option<f64> {
        self.samples.latest(self.host?, field, &Subject::Machine)
    }

    /// A count of which the source says only how much it grew since the previous sample.
    pub(crate) fn put_more(&mut self, field: Field, subject: &Subject, more: f64) {
        if self.full {
            return;
        }
        let host = self.current_host();
        let before = self.samples.latest(host, field, subject);
        if before.is_none() {
            self.samples.rate(host, field, subject, (0.0, None));
        }
        self.put(field, subject, None, before.unwrap_or(0.0) + more);
    }

    /// How much a count grew since the previous sample, whatever the time in between; `None` at the
    /// first look, and where it began anew.
    pub fn growth(&mut self, field: Field, subject: &Subject, value: f64) -> Option<f64> {
        if self.full {
            return None;
        }
        let host = self.current_host();
        self.samples.growth(host, field, subject, value)
    }

    /// The name by which listings about the same program of this kind are joined: `identity` is
    /// something that no other process has.
    pub fn program(
        &mut self,
        kind: &'static str,
        identity: Option<u64>,
        pid: Option<u32>,
    ) -> String {
        let host = self.current_host();
        self.programs.name((host, kind), identity, pid)
    }

    /// A part of `whole` that the previous sample did not list, although it listed others: it was 0
    /// then. To be called before the whole is counted again; counts of unknown age stay unknown.
    pub(crate) fn was_absent(&mut self, field: Field, part: &Subject, whole: &Subject) {
        if let Some(host) = self.host {
            self.samples.absent(host, field, part, whole);
        }
    }
}
