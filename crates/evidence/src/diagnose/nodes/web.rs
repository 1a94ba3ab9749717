//! What nginx and php-fpm say on their status pages.

use super::prelude::*;
use super::servers::{any, state, worst};

/// Does a web server say that it suffers?
pub(super) fn any_of(cx: &Context<'_>) -> Answer {
    any(&[pool(cx), dropped(cx)], FPM)
}

/// Do requests wait because all workers of a pool are at work?
pub(super) fn pool(cx: &Context<'_>) -> Answer {
    const KIND: &str = "php-fpm";
    worst(cx, KIND, &[Field::PoolQueue], FPM, |server| {
        let queue = state(cx, Field::PoolQueue, server)?;
        let active = state(cx, Field::PoolActive, server)?.value;
        let idle = state(cx, Field::PoolIdle, server)?.value;
        let workers = format!("{} at work, {} idle", write::number(active), write::number(idle));
        // On a socket of the UNIX domain the server cannot tell who waits; the kernel can.
        let limit = state(cx, Field::PoolQueueLimit, server);
        let cannot_tell = queue.value < 1.0 && limit.is_some_and(|limit| limit.value < 1.0);
        let waiting = longest_queue(cx, KIND);
        let (waits, told) = match &waiting {
            Some((waits, at)) if cannot_tell => (waits.value, Some(cx.say(waits, at))),
            None if cannot_tell && idle < 1.0 => {
                let text = format!("{server}: {workers}; it cannot tell who waits at its socket");
                let so = Answer::no(vec![cx.say(&queue, &text)]);
                return Some(so.if_close(true).lacking(&[LISTEN]));
            }
            _ => (queue.value, None),
        };
        let text = format!(
            "{server}: {} for a worker, {workers}",
            write::counted(waits, "request waits", "requests wait"),
        );
        let evidence = vec![cx.say(&queue, &text)];
        let often = state(cx, Field::PoolFullCount, server).filter(|full| full.value > 0.0);
        let often = often.map(|full| cx.quote(&full));
        let full = idle < 1.0 && waits >= cx.limit(T::PoolQueue);
        Some(Answer::when(full, 0.6, evidence).and(told).and(often))
    })
}

/// The longest queue at a listening socket of a program of that name, and where it is.
fn longest_queue(cx: &Context<'_>, program: &str) -> Option<(Reading, String)> {
    let own = |socket: &&Socket| {
        let name = socket.program.as_deref().and_then(|name| name.split_once('/'));
        socket.state == SocketState::Listen
            && name.is_some_and(|(_, name)| name.starts_with(program))
    };
    let queue = |socket: &Socket| {
        let waiting = cx.latest(Field::AcceptWaiting, &Subject::Named(socket.local.clone()))?;
        let text = format!(
            "{} {} not accepted, of at most {}",
            socket.local,
            write::counted(waiting.value, "connection", "connections"),
            socket.send_queue
        );
        Some((waiting, text))
    };
    let all = cx.host.sockets.iter().filter(own).filter_map(queue);
    all.max_by(|a, b| a.0.value.total_cmp(&b.0.value))
}

/// Does nginx drop connections that it accepted?
pub(super) fn dropped(cx: &Context<'_>) -> Answer {
    worst(cx, "nginx", &[Field::ConnectionsDroppedCount], NGINX, |server| {
        if let Some(rate) = state(cx, Field::ConnectionsDropped, server) {
            let evidence = vec![cx.quote(&rate)];
            let yes = rate.value > 0.0;
            return Some(Answer::when(yes, 0.5, evidence));
        }
        let count = state(cx, Field::ConnectionsDroppedCount, server)?;
        let evidence = vec![cx.quote(&count)];
        let many = count.value >= cx.limit(T::ConnectionsDropped);
        Some(Answer::when(many, 0.4, evidence))
    })
}
