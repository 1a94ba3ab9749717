//! Programs that run side by side: how alike they are served, and when each is done.

/// While less or more than these shares of all was handed out, all have about the same: nothing, or
/// everything.
const SHARED_OUT: [f64; 2] = [0.05, 0.95];

/// Jain's index of fairness (Jain, Chiu and Hawe, DEC-TR-301, 1984): 1 where all have the same, 1/n
/// where one of n has all; `None` where nobody has anything.
pub fn jain(values: &[f64]) -> Option<f64> {
    let sum: f64 = values.iter().sum();
    let squares: f64 = values.iter().map(|value| value * value).sum();
    (squares > 0.0).then(|| sum * sum / (values.len() as f64 * squares))
}

/// The mean of Jain's index while `most`, all that there is to have, was being shared out: from a
/// twentieth on, until hardly more than that is left. Of what each had, looked at evenly. `None`
/// where nobody looked in that time.
pub fn jain_while_shared_out(looks: &[Vec<f64>], most: f64) -> Option<f64> {
    let [from, to] = SHARED_OUT.map(|share| share * most);
    let counts = |look: &&Vec<f64>| (from..=to).contains(&look.iter().sum::<f64>());
    let indices: Vec<f64> = looks.iter().filter(counts).filter_map(|look| jain(look)).collect();
    (!indices.is_empty()).then(|| indices.iter().sum::<f64>() / indices.len() as f64)
}

/// When so much work was done, seconds since the begin: of points (seconds, work a second since the
/// point before). `None` where it was not.
pub fn done_at(rates: &[(f64, f64)], work: f64) -> Option<f64> {
    let (mut last, mut left) = (0.0, work);
    for (time, rate) in rates {
        let done = rate * (time - last);
        if done >= left {
            return Some(last + left / rate);
        }
        (last, left) = (*time, left - done);
    }
    None
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_same_for_all_is_fair() {
        assert_eq!(jain(&[3.0, 3.0, 3.0]), Some(1.0));
        assert_eq!(jain(&[9.0, 0.0, 0.0]), Some(1.0 / 3.0));
        assert_eq!((jain(&[0.0, 0.0]), jain(&[])), (None, None));
    }

    #[test]
    fn only_what_is_being_shared_out_counts() {
        let one_by_one: Vec<_> = (0..=100).map(|step| vec![f64::from(step), 0.0]).collect();
        assert_eq!(jain_while_shared_out(&one_by_one, 100.0), Some(0.5));
        // Nobody has enough yet; all have all.
        assert_eq!(jain_while_shared_out(&[vec![1.0, 0.0], vec![50.0, 49.0]], 100.0), None);
        assert_eq!(jain_while_shared_out(&[], 0.0), None);
    }

    #[test]
    fn work_is_done_within_a_step() {
        let rates = [(1.0, 10.0), (2.0, 0.0), (4.0, 20.0)];
        assert_eq!(done_at(&rates, 5.0), Some(0.5));
        assert_eq!(done_at(&rates, 30.0), Some(3.0));
        assert_eq!(done_at(&rates, 50.0), Some(4.0));
        assert_eq!((done_at(&rates, 51.0), done_at(&[], 1.0)), (None, None));
    }
}
