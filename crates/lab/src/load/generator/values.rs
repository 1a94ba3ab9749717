//! Random values, at the price of picking a place.

use hugewise_base::rng::Rng;
use hugewise_experiment::load::LoadSpec;

/// How many different places there are.
const PLACES: usize = 64 << 10;

/// Random bytes, of which any stretch is a value.
#[derive(Debug)]
pub(super) struct Values {
    bytes: Vec<u8>,
    length: usize,
}

impl Values {
    pub(super) fn new(spec: &LoadSpec) -> Self {
        let length = usize::try_from(spec.value_bytes).unwrap_or(usize::MAX);
        let mut rng = Rng::new(spec.seed);
        let words = (length + PLACES).div_ceil(8);
        let bytes = (0..words).flat_map(|_| rng.next().to_ne_bytes()).collect();
        Self { bytes, length }
    }

    pub(super) fn draw(&self, rng: &mut Rng) -> &[u8] {
        let place = rng.below(PLACES as u64);
        let place = usize::try_from(place).unwrap_or_default();
        &self.bytes[place..place + self.length]
    }
}
