//! What nginx and php-fpm say on their status pages.

use super::prelude::*;
use super::servers::{any, state, worst};

/// Does a web server say that it suffers?
pub(super) fn any_of(look: &Look<'_>) -> Answer {
    any(&[pool(look), dropped(look)], FPM)
}

/// Do requests wait because all workers of a pool are at work?
pub(super) fn pool(look: &Look<'_>) -> Answer {
    const KIND: &str = "php-fpm";
    worst(look, KIND, &[Field::PoolQueue], FPM, |server| {
        let queue = state(look, Field::PoolQueue, server)?;
        let active = state(look, Field::PoolActive, server)?.value;
        let idle = state(look, Field::PoolIdle, server)?.value;
        let workers = format!("{} at work, {} idle", write::number(active), write::number(idle));
        // On a socket of the UNIX domain the server cannot tell who waits; the kernel can.
        let limit = state(look, Field::PoolQueueLimit, server);
        let cannot_tell = queue.value < 1.0 && limit.is_some_and(|limit| limit.value < 1.0);
        let waiting = longest_queue(look, KIND);
        let (waits, told) = match &waiting {
            Some((waits, at)) if cannot_tell => (waits.value, Some(look.say(waits, at))),
            None if cannot_tell && idle < 1.0 => {
                let text = format!("{server}: {workers}; it cannot tell who waits at its socket");
                let so = Answer::no(vec![look.say(&queue, &text)]);
                return Some(so.if_close(true).lacking(&[LISTEN]));
            }
            _ => (queue.value, None),
        };
        let text = format!(
            "{server}: {} for a worker, {workers}",
            write::counted(waits, "request waits", "requests wait"),
        );
        let evidence = vec![look.say(&queue, &text)];
        let often = state(look, Field::PoolFullCount, server).filter(|full| full.value > 0.0);
        let often = often.map(|full| look.quote(&full));
        let full = idle < 1.0 && waits >= look.limit(T::PoolQueue);
        Some(Answer::when(full, 0.6, evidence).and(told).and(often))
    })
}

/// The longest queue at a listening socket of a program of that name, and where it is.
fn longest_queue(look: &Look<'_>, program: &str) -> Option<(Seen, String)> {
    let own = |socket: &&Socket| {
        let name = socket.program.as_deref().and_then(|name| name.split_once('/'));
        socket.state == SocketState::Listen
            && name.is_some_and(|(_, name)| name.starts_with(program))
    };
    let queue = |socket: &Socket| {
        let waiting = look.latest(Field::AcceptWaiting, &Subject::Named(socket.local.clone()))?;
        let text = format!(
            "{} {} not accepted, of at most {}",
            socket.local,
            write::counted(waiting.value, "connection", "connections"),
            socket.send_queue
        );
        Some((waiting, text))
    };
    let all = look.host.sockets.iter().filter(own).filter_map(queue);
    all.max_by(|a, b| a.0.value.total_cmp(&b.0.value))
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
