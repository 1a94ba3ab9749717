//! What goes back: a body, and headers that leave a browser little to do with it.

use crate::content::{Kind, Reply, Verdict};
use crate::gate::Refusal;
use crate::page::policy;
use hyper::body::{Body, Bytes, Frame, SizeHint};
use hyper::header::{
    ALLOW, CACHE_CONTROL, CONNECTION, CONTENT_SECURITY_POLICY, CONTENT_TYPE, HeaderName,
    HeaderValue, REFERRER_POLICY, WWW_AUTHENTICATE, X_CONTENT_TYPE_OPTIONS, X_FRAME_OPTIONS,
};
use hyper::{Response, StatusCode};
use std::convert::Infallible;
use std::pin::Pin;
use std::task::{Context, Poll};

/// A whole body, in one piece.
#[derive(Debug)]
pub(crate) struct Whole(Option<Bytes>);

impl Body for Whole {
    type Data = Bytes;
    type Error = Infallible;

    fn poll_frame(
        mut self: Pin<&mut Self>,
        _: &mut Context<'_>,
    ) -> Poll<Option<Result<Frame<Bytes>, Infallible>>> {
        Poll::Ready(self.0.take().map(|bytes| Ok(Frame::data(bytes))))
    }

    fn is_end_stream(&self) -> bool {
        self.0.is_none()
    }

    fn size_hint(&self) -> SizeHint {
        SizeHint::with_exact(self.0.as_ref().map_or(0, |bytes| bytes.len() as u64))
    }
}

/// Headers of every answer.
const ALWAYS: [(HeaderName, &str); 6] = [
    (CACHE_CONTROL, "no-store"),
    (REFERRER_POLICY, "no-referrer"),
    (X_CONTENT_TYPE_OPTIONS, "nosniff"),
    (X_FRAME_OPTIONS, "DENY"),
    (HeaderName::from_static("cross-origin-resource-policy"), "same-origin"),
    (HeaderName::from_static("cross-origin-opener-policy"), "same-origin"),
];
/// What a browser may do with an answer that is no page.
const NOTHING: &str = "default-src 'none'; frame-ancestors 'none'";

/// How the token is sent (RFC 6750).
const SCHEME: &str = "Bearer";
const HTML: &str = "text/html; charset=utf-8";
const TEXT: &str = "text/plain; charset=utf-8";

pub(crate) type Answer = Response<Whole>;

fn with(status: StatusCode, kind: &'static str, body: String) -> Answer {
    let mut answer = Response::new(Whole(Some(Bytes::from(body))));
    *answer.status_mut() = status;
    let headers = answer.headers_mut();
    for (name, value) in ALWAYS {
        headers.insert(name, HeaderValue::from_static(value));
    }
    headers.insert(CONTENT_TYPE, HeaderValue::from_static(kind));
    headers.insert(CONTENT_SECURITY_POLICY, HeaderValue::from_static(NOTHING));
    answer
}

/// A sentence for who asked.
pub(crate) fn said(status: StatusCode, sentence: &str) -> Answer {
    with(status, TEXT, format!("{sentence}\n"))
}

/// A document that may run what carries the nonce.
pub(crate) fn document(status: StatusCode, nonce: &str, body: String) -> Answer {
    let mut answer = with(status, HTML, body);
    if let Ok(policy) = HeaderValue::from_str(&policy(nonce)) {
        answer.headers_mut().insert(CONTENT_SECURITY_POLICY, policy);
    }
    answer
}

/// The document that asks for the token.
pub(crate) fn unlock(nonce: &str, body: String) -> Answer {
    let mut answer = document(StatusCode::UNAUTHORIZED, nonce, body);
    answer.headers_mut().insert(WWW_AUTHENTICATE, HeaderValue::from_static(SCHEME));
    answer
}

/// What the content answered.
pub(crate) fn replied(reply: Reply) -> Answer {
    let status = match reply.verdict {
        Verdict::Done => StatusCode::OK,
        Verdict::Absent => StatusCode::NOT_FOUND,
        Verdict::Wrong => StatusCode::BAD_REQUEST,
        Verdict::Unavailable => StatusCode::SERVICE_UNAVAILABLE,
    };
    let kind = match reply.kind {
        Kind::Json => "application/json",
        Kind::Text => TEXT,
        Kind::Prometheus => "text/plain; version=0.0.4; charset=utf-8",
        Kind::OpenMetrics => "application/openmetrics-text; version=1.0.0; charset=utf-8",
    };
    with(status, kind, reply.body)
}

/// Why nobody is let in.
pub(crate) fn refused(refusal: Refusal) -> Answer {
    let (status, sentence) = match refusal {
        Refusal::NoHost => (StatusCode::BAD_REQUEST, "A request must name one host."),
        Refusal::OtherHost => (
            StatusCode::MISDIRECTED_REQUEST,
            "This server does not go by that name: start it with --host NAME.",
        ),
        Refusal::Method => (StatusCode::METHOD_NOT_ALLOWED, "Only GET and HEAD are answered."),
        Refusal::Body => (StatusCode::PAYLOAD_TOO_LARGE, "A request must not bring a body."),
        Refusal::Token => (
            StatusCode::UNAUTHORIZED,
            "The token is missing or wrong: send it as 'Authorization: Bearer TOKEN'.",
        ),
    };
    let mut answer = said(status, sentence);
    let headers = answer.headers_mut();
    match refusal {
        Refusal::Method => _ = headers.insert(ALLOW, HeaderValue::from_static("GET, HEAD")),
        Refusal::Token => _ = headers.insert(WWW_AUTHENTICATE, HeaderValue::from_static(SCHEME)),
        _ => {}
    }
    // What else comes over this connection is of no interest.
    if refusal != Refusal::Token {
        headers.insert(CONNECTION, HeaderValue::from_static("close"));
    }
    answer
}
