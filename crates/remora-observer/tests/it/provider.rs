//! Tests of providers over HTTP, with real sockets.

use std::fmt::Write as _;
use std::net::TcpListener;
use std::process::Command;
use std::time::Duration;

use remora_net::CallError;
use remora_observer::provider::{
    Config, Provider, ProviderError, ProviderKind, Reply, Request, Secret, Usage,
};
use serde_json::{Value, json};

use crate::fake::{Api, Behaviour, Fake};

const KEY: &str = "test-key-0123456789";
const QUESTION: Request<'static> =
    Request { system: "You watch.", prompt: "What \"happened\"?\n<event/>", max_output_tokens: 1234 };

fn kind(api: Api) -> ProviderKind {
    match api {
        Api::Anthropic => ProviderKind::Anthropic,
        Api::Gemini => ProviderKind::Gemini,
        Api::Openai => ProviderKind::OpenAi,
    }
}

fn config(kind: ProviderKind, url: &str) -> Config {
    Config {
        base_url: Some(url.to_owned()),
        key: Some(Secret::new(KEY)),
        timeout: Duration::from_secs(20),
        ..Config::new(kind, "unused")
    }
}

async fn ask_at(api: Api, url: &str) -> Result<Reply, ProviderError> {
    Provider::new(config(kind(api), url)).unwrap().ask(&QUESTION).await
}

/// Sends a request to a provider with this behaviour.
async fn ask(api: Api, behaviour: Behaviour) -> Result<Reply, ProviderError> {
    ask_at(api, &Fake::start([behaviour]).url()).await
}

/// Sends a request with a short timeout.
async fn ask_hastily(api: Api, behaviour: Behaviour) -> Result<Reply, ProviderError> {
    let fake = Fake::start([behaviour]);
    let config = Config { timeout: Duration::from_millis(300), ..config(kind(api), &fake.url()) };
    Provider::new(config).unwrap().ask(&QUESTION).await
}

const SPENT: Usage = Usage { input: 120, output: 30, cached: 80, cost_usd: None, estimated: false };

#[tokio::test]
async fn every_api_answers_with_text_model_and_usage() {
    for api in Api::ALL {
        let reply = ask(api, Behaviour::json(200, &api.answer("<observation/>"))).await.unwrap();
        assert_eq!(reply.text, "<observation/>", "{api:?}");
        assert_eq!(reply.model, format!("fake-{}-1", kind(api).as_str()));
        assert_eq!(reply.usage, SPENT, "{api:?}");
        assert_eq!(reply.session_id, None);
        let cut = ask(api, Behaviour::json(200, &api.cut_off("<observation>"))).await.unwrap();
        assert_eq!(cut.text, "<observation>", "half an answer is the parser's to judge");
    }
}

#[tokio::test]
async fn requests_look_as_each_api_wants_them() {
    for kind in
        [ProviderKind::Anthropic, ProviderKind::Gemini, ProviderKind::OpenRouter, ProviderKind::OpenAi]
    {
        let name = kind.as_str();
        let api = match kind {
            ProviderKind::Anthropic => Api::Anthropic,
            ProviderKind::Gemini => Api::Gemini,
            _ => Api::Openai,
        };
        let fake = Fake::start([Behaviour::json(200, &api.answer("ok"))]);
        let path = if kind == ProviderKind::OpenRouter { "/api/v1" } else { "" };
        let provider = Provider::new(config(kind, &format!("{}{path}", fake.url()))).unwrap();
        assert_eq!(provider.name(), name);
        provider.ask(&QUESTION).await.unwrap();
        insta::assert_snapshot!(format!("request_{name}"), shown(&fake));
    }
}

/// The only request received, as text.
fn shown(fake: &Fake) -> String {
    let requests = fake.requests();
    let [request] = requests.as_slice() else { panic!("expected one request, got {}", requests.len()) };
    let mut text = format!("{} {}\n", request.method, request.path);
    for (name, value) in &request.headers {
        match name.as_str() {
            "host" | "content-length" => {}
            "user-agent" => assert!(value.starts_with("remora/")),
            _ => writeln!(text, "{name}: {value}").unwrap(),
        }
    }
    let body: Value = serde_json::from_str(&request.body).unwrap();
    write!(text, "\n{body:#}").unwrap();
    text
}

#[tokio::test]
async fn a_self_hosted_server_needs_no_key_and_accepts_any_path() {
    for (given, path) in [
        ("", "/v1/chat/completions"),
        ("/", "/v1/chat/completions"),
        ("/v1", "/v1/chat/completions"),
        ("/proxy/openai/", "/proxy/openai/chat/completions"),
    ] {
        let fake = Fake::start([Behaviour::json(200, &Api::Openai.answer("ok"))]);
        let config = Config {
            base_url: Some(format!("{}{given}", fake.url())),
            model: Some("qwen3:4b".into()),
            ..Config::new(ProviderKind::OpenAi, "unused")
        };
        Provider::new(config).unwrap().ask(&QUESTION).await.unwrap();
        let request = &fake.requests()[0];
        assert_eq!(request.path, path);
        assert!(!request.headers.contains_key("authorization"));
        assert!(request.body.contains("qwen3:4b"));
    }
    for (kind, given, path) in [
        (ProviderKind::Anthropic, "/anthropic", "/anthropic/v1/messages"),
        (ProviderKind::Anthropic, "/v1", "/v1/messages"),
        (ProviderKind::Gemini, "/v1beta", "/v1beta/models/odd%20one%2Fx:generateContent"),
    ] {
        let fake = Fake::start([Behaviour::json(200, &json!({}))]);
        let config = Config {
            model: Some("models/odd one/x".into()),
            ..config(kind, &format!("{}{given}", fake.url()))
        };
        assert!(Provider::new(config).unwrap().ask(&QUESTION).await.is_err());
        assert_eq!(fake.requests()[0].path, path);
    }
}

#[tokio::test]
async fn openrouter_says_what_it_charged() {
    let mut answer = Api::Openai.answer("ok");
    answer["usage"]["cost"] = json!(0.0125);
    let fake = Fake::start([Behaviour::json(200, &answer)]);
    let provider = Provider::new(config(ProviderKind::OpenRouter, &fake.url())).unwrap();
    assert_eq!(provider.ask(&QUESTION).await.unwrap().usage, Usage { cost_usd: Some(0.0125), ..SPENT });
}

#[tokio::test]
async fn unreported_usage_is_estimated() {
    for api in Api::ALL {
        let mut answer = api.answer("eight ch");
        for name in ["usage", "usageMetadata"] {
            answer.as_object_mut().unwrap().remove(name);
        }
        let usage = ask(api, Behaviour::json(200, &answer)).await.unwrap().usage;
        assert_eq!((usage.output, usage.estimated), (2, true), "{api:?}");
        assert!(usage.input > 0);
    }
}

#[tokio::test]
async fn whatever_a_provider_does_has_a_name() {
    let mut table = String::new();
    for api in Api::ALL {
        writeln!(table, "== {}", kind(api).as_str()).unwrap();
        for (what, behaviour) in misbehaviour(api) {
            let error = match behaviour {
                Behaviour::Hang | Behaviour::Drip => ask_hastily(api, behaviour).await.unwrap_err(),
                _ => ask(api, behaviour).await.unwrap_err(),
            };
            writeln!(table, "{what}: {}", outcome(&error)).unwrap();
        }
    }
    insta::assert_snapshot!(table);
}

/// Failures of a provider, except those that depend on time.
fn misbehaviour(api: Api) -> Vec<(&'static str, Behaviour)> {
    let says = |status, message: &str| Behaviour::json(status, &api.error(status, message));
    let whole = api.answer("ok").to_string();
    vec![
        ("401", says(401, "invalid x-api-key")),
        ("402", says(402, "Insufficient credits")),
        ("403", says(403, "no access")),
        ("404", says(404, "model: no-such-model")),
        ("400", says(400, "prompt is too long: 300000 tokens")),
        ("413", says(413, "Request exceeds the maximum size")),
        ("422", says(422, "unprocessable")),
        ("429", says(429, "slow down")),
        ("429 with seconds", says(429, "slow down").with_header("Retry-After", "17")),
        ("429 with milliseconds", says(429, "slow down").with_header("retry-after-ms", "1500")),
        ("429 with nonsense", says(429, "slow down").with_header("Retry-After", "soon")),
        ("429 for a week", says(429, "slow down").with_header("Retry-After", "604800")),
        ("429 until the past", says(429, "no").with_header("Retry-After", "Wed, 21 Oct 2015 07:28:00 GMT")),
        ("500", says(500, "oh no")),
        ("503 with seconds", says(503, "later").with_header("Retry-After", "2.5")),
        ("529", says(529, "Overloaded")),
        ("502 from a proxy", Behaviour::Respond(502, vec![], b"<html><h1>Bad Gateway</h1></html>".into())),
        ("503 in plain words", Behaviour::Respond(503, vec![], b"no healthy upstream".into())),
        ("redirect", Behaviour::Respond(302, vec![("location", "http://127.0.0.2/".into())], vec![])),
        ("page with 200", Behaviour::body("<html><title>Log in to the Wi-Fi</title></html>")),
        ("nothing with 200", Behaviour::body("")),
        ("garbage with 200", Behaviour::body([0xff, 0xfe, 0x00, 0x80])),
        ("other JSON with 200", Behaviour::json(200, &json!({ "hello": ["world"] }))),
        ("a list with 200", Behaviour::json(200, &json!([1, 2, 3]))),
        ("half of the JSON", Behaviour::body(&whole.as_bytes()[..whole.len() / 2])),
        ("error with 200", Behaviour::json(200, &json!({ "error": { "code": 429, "message": "upstream" } }))),
        ("filtered", Behaviour::json(200, &api.filtered())),
        ("no text", Behaviour::json(200, &api.answer(" \n"))),
        ("endless body", Behaviour::Endless),
        ("no answer", Behaviour::Hang),
        ("slow drip", Behaviour::Drip),
        ("reset", Behaviour::Reset),
        ("reset after the headers", Behaviour::ResetAfterHeaders),
        ("closed early", Behaviour::Short(whole.into_bytes())),
        ("not HTTP", Behaviour::Raw(b"220 smtp.example ESMTP\r\n".into())),
    ]
}

fn outcome(error: &ProviderError) -> String {
    let mut text = match &error.cause {
        // The error of a broken connection depends on what arrived first.
        CallError::Unreachable { sent, .. } => format!("unreachable, sent: {sent}"),
        other => other.to_string(),
    };
    if let Some(delay) = error.cause.retry_after() {
        write!(text, " [retry after {delay:?}]").unwrap();
    }
    if error.usage != Usage::default() {
        write!(text, " [{} in, {} out]", error.usage.input, error.usage.output).unwrap();
    }
    let flags = [(error.cause.is_answer(), "an attempt"), (error.may_be_billed(), "may be billed")];
    for (_, word) in flags.iter().filter(|(is_so, _)| *is_so) {
        write!(text, " [{word}]").unwrap();
    }
    text
}

#[tokio::test]
async fn a_date_to_retry_at_becomes_a_delay() {
    let date = jiff::Timestamp::now() + jiff::SignedDuration::from_mins(30);
    let date = jiff::fmt::rfc2822::DateTimePrinter::new().timestamp_to_rfc9110_string(&date).unwrap();
    let busy = Behaviour::json(429, &json!({})).with_header("Retry-After", date);
    let delay = ask(Api::Anthropic, busy).await.unwrap_err().cause.retry_after().unwrap();
    assert!(delay <= Duration::from_mins(30) && delay > Duration::from_mins(20), "{delay:?}");
}

#[tokio::test]
async fn gemini_says_in_the_body_when_to_retry_and_that_a_key_is_wrong() {
    let mut busy = Api::Gemini.error(429, "Resource exhausted");
    busy["error"]["details"] = json!([{ "@type": "x" }, { "@type": "type.googleapis.com/google.rpc.RetryInfo", "retryDelay": "34.5s" }]);
    let error = ask(Api::Gemini, Behaviour::json(429, &busy)).await.unwrap_err();
    assert_eq!(error.cause.retry_after(), Some(Duration::from_millis(34_500)));
    let wrong = Api::Gemini.error(400, "API key not valid. Please pass a valid API key.");
    let error = ask(Api::Gemini, Behaviour::json(400, &wrong)).await.unwrap_err();
    assert!(matches!(error.cause, CallError::Auth { .. }), "{error:?}");
    let blocked = json!({ "promptFeedback": { "blockReason": "PROHIBITED_CONTENT" },
                          "usageMetadata": { "promptTokenCount": 9 } });
    let error = ask(Api::Gemini, Behaviour::json(200, &blocked)).await.unwrap_err();
    assert!(matches!(error.cause, CallError::BadAnswer { .. }), "{error:?}");
    assert_eq!(error.usage.input, 9);
}

#[tokio::test]
async fn some_errors_of_400_are_about_the_account_or_the_settings() {
    for (api, status, message, expected) in [
        (Api::Anthropic, 400, "Your credit balance is too low to access the API", "not authorised"),
        (Api::Openai, 400, "some/model is not a valid model ID", "wrong settings"),
        (Api::Openai, 403, "Your input was flagged by moderation", "rejected"),
        (Api::Gemini, 400, "User location is not supported for the API use.", "wrong settings"),
    ] {
        let error = ask(api, Behaviour::json(status, &api.error(status, message))).await.unwrap_err();
        assert!(error.to_string().starts_with(expected), "{message}: {error}");
    }
    let ollama = json!({ "error": "model 'x' not found" });
    let error = ask(Api::Openai, Behaviour::json(404, &ollama)).await.unwrap_err();
    assert_eq!(error.to_string(), "wrong settings: HTTP 404: model 'x' not found");
}

#[tokio::test]
async fn a_model_that_refuses_in_words_is_not_an_answer() {
    let mut answer = Api::Openai.answer("");
    answer["choices"][0]["message"]["refusal"] = json!("I cannot help with that.");
    let error = ask(Api::Openai, Behaviour::json(200, &answer)).await.unwrap_err();
    assert_eq!(error.to_string(), "unusable answer: the model refused (I cannot help with that.)");
    assert_eq!(error.usage, SPENT);
}

#[tokio::test]
async fn a_refused_connection_was_not_sent() {
    let closed = TcpListener::bind("127.0.0.1:0").unwrap().local_addr().unwrap();
    for api in Api::ALL {
        let error = ask_at(api, &format!("http://{closed}")).await.unwrap_err();
        assert!(matches!(error.cause, CallError::Unreachable { sent: false, .. }), "{error:?}");
        assert!(!error.may_be_billed());
    }
    // A TLS connection to a plain HTTP server.
    let fake = Fake::start([Behaviour::Hang]);
    let error = ask_at(Api::Openai, "https://localhost:1").await.unwrap_err();
    assert!(matches!(error.cause, CallError::Unreachable { sent: false, .. }), "{error:?}");
    let url = fake.url().replace("http:", "https:");
    let config = Config { timeout: Duration::from_millis(300), ..config(ProviderKind::OpenAi, &url) };
    let error = Provider::new(config).unwrap().ask(&QUESTION).await.unwrap_err();
    assert!(!error.cause.is_answer(), "{error:?}");
    assert_eq!(fake.requests().len(), 0, "the key went out in clear");
}

#[tokio::test]
async fn a_question_is_sent_once_and_nowhere_else() {
    for behaviour in [Behaviour::Reset, Behaviour::json(503, &json!({})), Behaviour::json(408, &json!({}))] {
        let fake = Fake::start([behaviour]);
        assert!(ask_at(Api::Openai, &fake.url()).await.is_err());
        assert_eq!(fake.requests().len(), 1);
    }
    let elsewhere = Fake::start([Behaviour::json(200, &Api::Openai.answer("ok"))]);
    for status in [301, 302, 307, 308] {
        let moved = Behaviour::Respond(status, vec![("location", elsewhere.url())], vec![]);
        let error = ask(Api::Openai, moved).await.unwrap_err();
        assert!(matches!(error.cause, CallError::Misconfigured { .. }), "{error:?}");
    }
    assert_eq!(elsewhere.requests().len(), 0);
}

#[test]
fn no_proxy_stands_between_us_and_our_own_machine() {
    let fake = Fake::start([Behaviour::json(200, &Api::Openai.answer("ok"))]);
    let proxy = Fake::start([Behaviour::json(200, &Api::Openai.answer("ok"))]);
    for (host, asked, spied) in [("127.0.0.1", 1, 0), ("localhost", 2, 0), ("provider.invalid", 2, 1)] {
        let url = fake.url().replace("127.0.0.1", host);
        let asker = Command::new(std::env::current_exe().unwrap())
            .args(["--exact", "provider::asks_from_a_process_of_its_own", "--ignored"])
            .env("REMORA_TEST_URL", url)
            .envs([("http_proxy", proxy.url()), ("HTTP_PROXY", proxy.url())])
            .env_remove("no_proxy")
            .env_remove("NO_PROXY")
            .output();
        assert!(asker.unwrap().status.success(), "{host}");
        assert_eq!((fake.requests().len(), proxy.requests().len()), (asked, spied), "{host}");
    }
}

#[tokio::test]
#[ignore = "another test runs it as a process, whose environment it chooses"]
async fn asks_from_a_process_of_its_own() {
    let Ok(url) = std::env::var("REMORA_TEST_URL") else { return };
    ask_at(Api::Openai, &url).await.unwrap();
}

#[tokio::test]
async fn a_question_can_be_asked_from_another_thread() {
    let fake = Fake::start([Behaviour::json(200, &Api::Openai.answer("ok"))]);
    let provider = Provider::new(config(ProviderKind::OpenAi, &fake.url())).unwrap();
    let asking = tokio::spawn(async move { provider.ask(&QUESTION).await });
    assert_eq!(asking.await.unwrap().unwrap().text, "ok");
}

#[tokio::test]
async fn one_provider_can_be_asked_again() {
    let busy = Behaviour::json(529, &json!({}));
    let fine = Behaviour::json(200, &Api::Anthropic.answer("ok"));
    let fake = Fake::start([busy, fine.clone(), fine]);
    let provider = Provider::new(config(ProviderKind::Anthropic, &fake.url())).unwrap();
    let error = provider.ask(&QUESTION).await.unwrap_err();
    assert!(matches!(error.cause, CallError::Overloaded { .. }), "{error:?}");
    assert_eq!(provider.ask(&QUESTION).await.unwrap().text, "ok");
    assert_eq!(provider.ask(&QUESTION).await.unwrap().text, "ok");
    assert_eq!(fake.requests().len(), 3);
}

#[tokio::test]
async fn the_key_is_shown_nowhere() {
    let long = format!("{}{KEY}", "x".repeat(180));
    for api in Api::ALL {
        let echoes = [
            Behaviour::json(401, &api.error(401, &format!("bad key {KEY}"))),
            Behaviour::json(401, &api.error(401, &long)),
            Behaviour::Respond(500, vec![], format!("boom {KEY}").into_bytes()),
            Behaviour::body(format!("<html>{KEY}</html>")),
            Behaviour::body(format!("{}{KEY}", "y".repeat(395))),
            Behaviour::json(200, &json!({ "error": { "code": 400, "message": KEY } })),
        ];
        for echo in echoes {
            let shown = format!("{:?}", ask(api, echo).await.unwrap_err());
            assert!(!shown.contains("test-key"), "{shown}");
            assert!(shown.contains("***") || shown.contains('…') || shown.contains("yyy"), "{shown}");
        }
    }
    assert_eq!(format!("{:?}", Secret::new(KEY)), "***");
    let provider = Provider::new(config(ProviderKind::OpenAi, "http://127.0.0.1:1")).unwrap();
    assert!(!format!("{provider:?}").contains(KEY));
}

#[test]
fn settings_that_cannot_work_are_reported_before_anything_is_sent() {
    let wrong = |config: Config| Provider::new(config).unwrap_err().to_string();
    let mut table = String::new();
    for kind in ProviderKind::ALL.into_iter().filter(|kind| *kind != ProviderKind::ClaudeCli) {
        writeln!(table, "{}: {}", kind.as_str(), wrong(Config::new(kind, "unused"))).unwrap();
    }
    for url in ["localhost:11434", "file:///etc/passwd", "no url", "http://", "https://h/v1?key=x"] {
        writeln!(table, "{url}: {}", wrong(config(ProviderKind::OpenAi, url))).unwrap();
    }
    let blank = Config { key: Some(Secret::new(" \n")), ..Config::new(ProviderKind::Gemini, "unused") };
    writeln!(table, "a blank key: {}", wrong(blank)).unwrap();
    insta::assert_snapshot!(table);
}
