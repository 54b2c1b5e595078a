//! HTTPS: the client program against our server behind TLS, which is also how to serve with a stack of one's own.
#![allow(missing_docs, clippy::unwrap_used, reason = "a test")]
mod common;

use std::{path::PathBuf, process::Stdio, sync::Arc};

use common::{example, fixture, soon};
use hyper::service::service_fn;
use hyper_util::rt::TokioIo;
use mcp_keel::Server;
use rustls::{ServerConfig, pki_types::PrivateKeyDer};
use tokio::net::TcpListener;
use tokio_rustls::TlsAcceptor;

struct Https {
    url: String,
    certificate: PathBuf,
}

impl Drop for Https {
    fn drop(&mut self) {
        let _ = std::fs::remove_file(&self.certificate);
    }
}

async fn serve(server: Server, name: &str) -> Https {
    let issued = rcgen::generate_simple_self_signed([String::from("localhost")]).unwrap();
    let file = format!("mcp-keel-{name}-{}.pem", std::process::id());
    let certificate = std::env::temp_dir().join(file);
    std::fs::write(&certificate, issued.cert.pem()).unwrap();
    let key = PrivateKeyDer::try_from(issued.signing_key.serialize_der()).unwrap();
    let config = ServerConfig::builder_with_provider(Arc::new(rustls::crypto::ring::default_provider()))
        .with_safe_default_protocol_versions()
        .unwrap()
        .with_no_client_auth()
        .with_single_cert(vec![issued.cert.der().clone()], key)
        .unwrap();
    let acceptor = TlsAcceptor::from(Arc::new(config));
    let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
    let url = format!("https://localhost:{}/mcp", listener.local_addr().unwrap().port());
    tokio::spawn(async move {
        while let Ok((socket, _)) = listener.accept().await {
            let (acceptor, server) = (acceptor.clone(), server.clone());
            tokio::spawn(async move {
                let Ok(socket) = acceptor.accept(socket).await else { return };
                let service = service_fn(move |request| {
                    let server = server.clone();
                    async move { Ok::<_, std::convert::Infallible>(server.answer_http(request).await) }
                });
                let connection = hyper::server::conn::http1::Builder::new();
                let _ = connection.serve_connection(TokioIo::new(socket), service).await;
            });
        }
    });
    Https { url, certificate }
}

/// The fixture client says `connect` is ok, or why it is not; what this server lacks of the fixture is no matter.
async fn connect(https: &Https, trusted: bool) -> String {
    let mut command = tokio::process::Command::new(example("fixture_client"));
    command.args(["--era", "auto", "--http", &https.url]).stdin(Stdio::null()).kill_on_drop(true);
    if trusted {
        command.env("SSL_CERT_FILE", &https.certificate);
    }
    let output = soon(command.output()).await.unwrap();
    String::from_utf8(output.stdout).unwrap().lines().next().unwrap_or_default().to_owned()
}

#[tokio::test]
async fn a_trusted_server_is_spoken_to() {
    let https = serve(fixture().server, "trusted").await;
    let line = connect(&https, true).await;
    assert_eq!(line, r#"{"check":"connect","ok":true}"#);
}

#[tokio::test]
async fn an_unknown_certificate_is_refused() {
    let https = serve(fixture().server, "unknown").await;
    let line = connect(&https, false).await;
    assert!(line.contains(r#""ok":false"#) && line.contains("certificate"), "{line}");
}
