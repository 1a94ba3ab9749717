//! What nginx and php-fpm say on their status pages.

use super::prelude::*;
use super::servers::{any, state, worst};

/// Does a web server say that it suffers?
pub(super) fn any_of(look: &Look<'_>) -> Answer {
    any(&[pool(look), dropped(look)], FPM)
}

/// Do requests wait because all workers of a pool are at work?
pub(super) fn pool(look: &Look<'_>) -> Answer {
    worst(look, "php-fpm", &[Field::PoolQueue], FPM, |server| {
        let queue = state(look, Field::PoolQueue, server)?;
        let active = state(look, Field::PoolActive, server)?.value;
        let idle = state(look, Field::PoolIdle, server)?.value;
        let text = format!(
            "{server}: {} for a worker, {} at work, {} idle",
            write::counted(queue.value, "request waits", "requests wait"),
            write::number(active),
            write::number(idle)
        );
        let evidence = vec![look.say(&queue, &text)];
        let often = state(look, Field::PoolFullCount, server).filter(|full| full.value > 0.0);
        let often = often.map(|full| look.quote(&full));
        let full = idle < 1.0 && queue.value >= look.limit(T::PoolQueue);
        Some(Answer::when(full, 0.6, evidence).and(often))
    })
}

/// Does nginx drop connections that it accepted?
pub(super) fn dropped(look: &Look<'_>) -> Answer {
    worst(look, "nginx", &[Field::ConnectionsDroppedCount], NGINX, |server| {
        if let Some(rate) = state(look, Field::ConnectionsDropped, server) {
            let evidence = vec![look.quote(&rate)];
            let yes = rate.value > 0.0;
            return Some(Answer::when(yes, 0.5, evidence));
        }
        let count = state(look, Field::ConnectionsDroppedCount, server)?;
        let evidence = vec![look.quote(&count)];
        let many = count.value >= look.limit(T::ConnectionsDropped);
        Some(Answer::when(many, 0.4, evidence))
    })
}
