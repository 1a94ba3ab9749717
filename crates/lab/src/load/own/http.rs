//! One connection that speaks HTTP/1.1 and is kept alive, one request at a time.

use super::answer::{Answer, Failed};
use hugewise_core::experiment::load::Failure;
use hyper::body::{Body, Incoming};
use hyper::client::conn::http1::{SendRequest, handshake};
use hyper::header::{HOST, HeaderValue};
use hyper::{Request, Uri};
use hyper_util::rt::TokioIo;
use std::error::Error;
use std::future::poll_fn;
use std::io;
use std::net::SocketAddr;
use std::pin::Pin;
use tokio::net::TcpStream;

#[derive(Debug)]
pub(super) struct Http {
    sender: SendRequest<String>,
    path: Uri,
    host: HeaderValue,
}

impl Http {
    pub(super) async fn connect(address: SocketAddr, path: &str) -> Result<Self, Failed> {
        let wrong = |e: &dyn Error| Failed::new(Failure::Connect, e.to_string());
        let path: Uri = path.parse().map_err(|e| wrong(&e))?;
        let host = HeaderValue::from_str(&address.to_string()).map_err(|e| wrong(&e))?;
        let stream = TcpStream::connect(address).await.map_err(|e| Failed::connecting(&e))?;
        stream.set_nodelay(true).map_err(|e| Failed::connecting(&e))?;
        let (sender, connection) =
            handshake(TokioIo::new(stream)).await.map_err(|e| talking(&e))?;
        // Its error is the error of the request that is in flight, which reports it.
        tokio::task::spawn_local(async move { drop(connection.await) });
        Ok(Self { sender, path, host })
    }

    pub(super) fn is_closed(&self) -> bool {
        self.sender.is_closed()
    }

    pub(super) async fn request(&mut self) -> Result<Answer, Failed> {
        self.sender.ready().await.map_err(|e| talking(&e))?;
        let mut request = Request::new(String::new());
        *request.uri_mut() = self.path.clone();
        request.headers_mut().insert(HOST, self.host.clone());
        let response = self.sender.send_request(request).await.map_err(|e| talking(&e))?;
        let status = response.status();
        // The answer is complete with its body; only then is the connection free.
        drain(response.into_body()).await?;
        if status.is_success() {
            return Ok(Answer::Done);
        }
        Err(Failed::new(Failure::Status, format!("status {}", status.as_u16())))
    }
}

async fn drain(mut body: Incoming) -> Result<(), Failed> {
    while let Some(frame) = poll_fn(|context| Pin::new(&mut body).poll_frame(context)).await {
        frame.map_err(|e| talking(&e))?;
    }
    Ok(())
}

fn talking(error: &hyper::Error) -> Failed {
    if let Some(io) = error.source().and_then(|source| source.downcast_ref::<io::Error>()) {
        return Failed::talking(io);
    }
    let closed = error.is_closed() || error.is_canceled() || error.is_incomplete_message();
    let kind = match (closed, error.is_parse()) {
        (true, _) => Failure::Closed,
        (_, true) => Failure::Protocol,
        _ => Failure::Io,
    };
    Failed::new(kind, error.to_string())
}
