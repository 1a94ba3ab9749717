//! Connections, and the one thread that answers questions.

use crate::answer::{Answer, document, refused, replied, said, unlock};
use crate::connections::{Connections, Known};
use crate::content::{Content, Question, Reply};
use crate::gate::Gate;
use crate::listener::{Accepting, Listener, Stream};
use crate::page::Pages;
use crate::route::{Route, route};
use crate::token::Token;
use hyper::body::Incoming;
use hyper::header::ACCEPT;
use hyper::server::conn::http1;
use hyper::service::service_fn;
use hyper::{Request, StatusCode};
use hyper_util::rt::{TokioIo, TokioTimer};
use rustix::rand::{GetRandomFlags, getrandom};
use std::convert::Infallible;
use std::io;
use std::pin::pin;
use std::sync::Arc;
use std::time::Duration;
use tokio::sync::{Notify, mpsc, oneshot};

/// Questions that may wait for their turn; whoever comes then is told to come again.
const WAITING: usize = 32;
/// Most of a request's head: far more than browsers and scrapers send (0.5 to 2 KiB).
const HEAD: usize = 16 << 10;
/// Most of its lines.
const HEADERS: usize = 64;
/// How long accepting rests where no more descriptors are to be had.
const REST: Duration = Duration::from_millis(100);

/// What clients may do, and for how long.
#[derive(Debug, Clone, Copy)]
pub struct Limits {
    /// Connections at a time.
    pub connections: usize,
    /// Time for the head of a request, and for the pause before it.
    pub head: Duration,
    /// Time for an answer to come into being.
    pub answer: Duration,
    /// Age from which on a connection takes no further request; a second of the same length is for
    /// the last answer to go out.
    pub age: Duration,
}

impl Default for Limits {
    fn default() -> Self {
        Self {
            connections: 256,
            head: Duration::from_secs(5),
            answer: Duration::from_secs(15),
            age: Duration::from_secs(60),
        }
    }
}

/// How to serve.
#[derive(Debug)]
pub struct Settings {
    /// Where it listens.
    pub listener: Listener,
    /// Names under which it is asked, beside the address it listens on.
    pub hosts: Vec<String>,
    /// What whoever asks has to know.
    pub token: Token,
    /// What clients may do.
    pub limits: Limits,
}

/// Ends a [`Server`] that runs.
#[derive(Debug, Clone, Default)]
pub struct Stopper(Arc<Notify>);

impl Stopper {
    /// Ends it, now or as soon as it runs.
    pub fn stop(&self) {
        self.0.notify_one();
    }
}

/// A server that listens, and does not answer yet.
#[derive(Debug)]
pub struct Server {
    listener: Listener,
    gate: Gate,
    limits: Limits,
    stopper: Stopper,
}

impl Server {
    /// Takes over a socket.
    pub fn new(settings: Settings) -> Self {
        let mut hosts = settings.hosts;
        let address = settings.listener.address();
        if let Some(address) = address.filter(|address| !address.ip().is_unspecified()) {
            hosts.push(address.ip().to_string());
        }
        // Of a UNIX socket clients name the host as they like: this is what they do.
        if address.is_none_or(|address| address.ip().is_loopback()) {
            hosts.push("localhost".to_owned());
        }
        let gate = Gate::new(hosts, settings.token);
        let (limits, stopper) = (settings.limits, Stopper::default());
        Self { listener: settings.listener, gate, limits, stopper }
    }

    /// What ends it.
    pub fn stopper(&self) -> Stopper {
        self.stopper.clone()
    }

    /// Answers until it is stopped.
    ///
    /// # Errors
    /// The system gives no thread, or no runtime.
    pub fn run(self, content: impl Content) -> io::Result<()> {
        let (questions, waiting) = mpsc::channel(WAITING);
        std::thread::Builder::new()
            .name("content".into())
            .spawn(move || answer_all(content, waiting))?;
        let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build()?;
        let shared = Arc::new(Shared {
            gate: self.gate,
            limits: self.limits,
            pages: Pages::new(),
            questions,
        });
        let done = runtime.block_on(async {
            // Within the runtime, which waits for it.
            let listener = self.listener.accepting()?;
            accept_all(&listener, shared, self.stopper).await;
            Ok(())
        });
        // Somebody's answer that is just being made is not waited for.
        runtime.shutdown_background();
        done
    }
}

/// What all connections have in common.
struct Shared {
    gate: Gate,
    limits: Limits,
    pages: Pages,
    questions: mpsc::Sender<Asked>,
}

/// A question, and where the answer goes.
type Asked = (Question, oneshot::Sender<Reply>);

fn answer_all(mut content: impl Content, mut waiting: mpsc::Receiver<Asked>) {
    while let Some((question, back)) = waiting.blocking_recv() {
        // Who has gone meanwhile needs no answer.
        if !back.is_closed() {
            let _ = back.send(content.answer(&question));
        }
    }
}

async fn accept_all(listener: &Accepting, shared: Arc<Shared>, stopper: Stopper) {
    let mut connections = Connections::new(shared.limits.connections);
    loop {
        let accepted = tokio::select! {
            () = stopper.0.notified() => break,
            accepted = listener.next() => accepted,
        };
        // Out of descriptors, for instance: that may pass, and must not spin.
        let Ok(stream) = accepted else {
            tokio::time::sleep(REST).await;
            continue;
        };
        connections.make_room();
        let known = Known::default();
        let task = tokio::spawn(serve(stream, shared.clone(), known.clone()));
        connections.add(known, task.abort_handle());
    }
    connections.close_all();
}

async fn serve(stream: Box<dyn Stream>, shared: Arc<Shared>, known: Known) {
    let limits = shared.limits;
    let service = service_fn(move |request: Request<Incoming>| {
        let (shared, known) = (shared.clone(), known.clone());
        async move { Ok::<_, Infallible>(answer(request, &shared, &known).await) }
    });
    let connection = http1::Builder::new()
        .timer(TokioTimer::new())
        .header_read_timeout(limits.head)
        .max_buf_size(HEAD)
        .max_headers(HEADERS)
        .serve_connection(TokioIo::new(stream), service);
    let mut connection = pin!(connection);
    // What goes wrong with a connection is its client's trouble.
    if tokio::time::timeout(limits.age, connection.as_mut()).await.is_err() {
        connection.as_mut().graceful_shutdown();
        let _ = tokio::time::timeout(limits.age, connection).await;
    }
}

async fn answer(request: Request<Incoming>, shared: &Shared, known: &Known) -> Answer {
    let (head, _body) = request.into_parts();
    if let Err(refusal) = shared.gate.is_ours(&head) {
        return refused(refusal);
    }
    let accept = head.headers.get(ACCEPT).and_then(|value| value.to_str().ok());
    let route = route(&head.uri, accept.unwrap_or_default());
    let is_page = route == Route::Page;
    if let Err(refusal) = shared.gate.knows(&head, is_page) {
        return if is_page { page(shared, false) } else { refused(refusal) };
    }
    known.set();
    match route {
        Route::Page => page(shared, true),
        Route::Nowhere => said(StatusCode::NOT_FOUND, "There is nothing here."),
        Route::Wrong(why) => said(StatusCode::BAD_REQUEST, &why),
        Route::Ask(question) => ask(question, shared).await,
    }
}

/// The page, or what asks for the token.
fn page(shared: &Shared, unlocked: bool) -> Answer {
    let Ok(nonce) = nonce() else {
        return said(StatusCode::INTERNAL_SERVER_ERROR, "The kernel gives no random numbers.");
    };
    if unlocked {
        return document(StatusCode::OK, &nonce, shared.pages.page(&nonce));
    }
    unlock(&nonce, shared.pages.unlock(&nonce))
}

/// 128 random bits as text.
fn nonce() -> io::Result<String> {
    let mut bytes = [0; 16];
    getrandom(&mut bytes, GetRandomFlags::empty())?;
    Ok(bytes.iter().map(|byte| format!("{byte:02x}")).collect())
}

async fn ask(question: Question, shared: &Shared) -> Answer {
    let again = |why| said(StatusCode::SERVICE_UNAVAILABLE, why);
    let (back, reply) = oneshot::channel();
    if shared.questions.try_send((question, back)).is_err() {
        return again("Too many questions wait for an answer: come again.");
    }
    match tokio::time::timeout(shared.limits.answer, reply).await {
        Ok(Ok(reply)) => replied(reply),
        Ok(Err(_)) => again("The server is about to end."),
        Err(_) => again("The answer took too long: come again."),
    }
}
