//! Vectors from other services: a fake embedder on loopback, everything else real.

use std::fs;
use std::path::Path;
use std::thread;
use std::time::{Duration, Instant};

use rusqlite::Connection;
use rustix::process::{Pid, Signal, kill_process};
use serde_json::{Value, json};

use crate::client::{Client, start};
use crate::daemon::{Background, turn};
use crate::fake::{Behaviour, Fake, Recorded};

/// The three services, and the names of their vectors.
const EMBEDDERS: [(&str, &str); 3] = [
    ("openai-compatible", "openai-compatible/text-embedding-3-small@"),
    ("voyage", "voyage/voyage-4-lite/256"),
    ("ollama", "ollama/nomic-embed-text/256"),
];
const KEY: &str = "pa-test-4f6b9a0c2d";

/// Answers in the format of the requested service, with vectors of 256 dimensions.
fn answer(request: &Recorded) -> Behaviour {
    answer_with(256, request)
}

/// Like [`answer`], from a model that was replaced by a smaller one.
fn answer_smaller(request: &Recorded) -> Behaviour {
    answer_with(32, request)
}

/// Refuses every text that contains a certain word.
fn answer_unless_poisoned(request: &Recorded) -> Behaviour {
    if request.body.contains("arsenic") {
        return Behaviour::json(400, &json!({ "error": { "message": "this input is not acceptable" } }));
    }
    answer(request)
}

fn answer_with(dimensions: usize, request: &Recorded) -> Behaviour {
    // A killed client may have sent only part of its request.
    let Ok(body) = serde_json::from_str::<Value>(&request.body) else { return Behaviour::Reset };
    let texts = body["input"].as_array().unwrap();
    let vectors = texts.iter().map(|text| vector(text.as_str().unwrap(), dimensions));
    let answer = if request.path.ends_with("/api/embed") {
        json!({ "model": body["model"], "embeddings": vectors.collect::<Vec<_>>() })
    } else {
        let data = vectors.enumerate().map(|(index, vector)| json!({ "index": index, "embedding": vector }));
        json!({ "data": data.rev().collect::<Vec<_>>(), "model": body["model"] })
    };
    Behaviour::json(200, &answer)
}

/// A vector from the words of a text. Each word has a direction, and synonyms share theirs.
fn vector(text: &str, dimensions: usize) -> Vec<f64> {
    let mut vector = vec![0.01; dimensions];
    for word in text.to_lowercase().split(|c: char| !c.is_alphanumeric()).filter(|word| word.len() > 2) {
        let meaning = match word {
            "automobile" => "car",
            "garage" => "shed",
            word => word,
        };
        let hash = meaning.bytes().fold(7_usize, |hash, byte| hash.wrapping_mul(31) + usize::from(byte));
        vector[hash % dimensions] += 1.0;
    }
    vector
}

/// A user with an embedder over the network.
struct Office {
    background: Background,
    fake: Fake,
}

impl Office {
    fn new(embedder: &str, script: impl Into<Vec<Behaviour>>) -> Self {
        let office = Self { background: Background::new(), fake: Fake::start(script) };
        office.set("search.embedder_url", &office.fake.url());
        office.set("search.embedder_api_key", KEY);
        office.set("search.embedder", embedder);
        office
    }

    fn set(&self, name: &str, value: &str) {
        self.background.world.text(&["config", "set", name, value]);
    }

    fn save(&self, text: &str) -> String {
        self.background.world.text(&["save", text]).trim().to_owned()
    }

    fn count(&self, sql: &str) -> i64 {
        let database = Connection::open(self.background.world.data().join("remora.db")).unwrap();
        database.busy_timeout(Duration::from_secs(10)).unwrap();
        database.query_row(sql, [], |row| row.get(0)).unwrap()
    }

    fn index(&self) -> Value {
        self.background.world.json(&["index", "status"])
    }

    fn wait(&self, what: &str, ready: impl Fn() -> bool) {
        let deadline = Instant::now() + Duration::from_mins(2);
        while !ready() {
            assert!(Instant::now() < deadline, "{what}: {}, {:?}", self.index(), self.fake.requests().last());
            thread::sleep(Duration::from_millis(10));
        }
    }

    /// Waits until every document has a vector. All of them must be from one model.
    fn wait_for_vectors(&self) {
        self.wait("vectors", || self.count("SELECT count(*) FROM documents WHERE embedded = 0") == 0);
        assert_eq!(
            self.count("SELECT count(*) FROM vectors"),
            self.count("SELECT count(*) FROM documents WHERE embedded = 1")
        );
        assert_eq!(self.count("SELECT count(DISTINCT model) FROM vectors"), 1);
    }
}

fn search(client: &Client, mode: &str, text: &str) -> Value {
    client.list(&format!("/api/search?project=project&mode={mode}&q={}", text.replace(' ', "+")))
}

/// Searches by meaning, with retries: on a busy machine even a local embedder may be late once.
fn search_by_meaning(client: &Client, mode: &str, text: &str) -> Value {
    let deadline = Instant::now() + Duration::from_mins(2);
    loop {
        let found = search(client, mode, text);
        if found["plan"]["mode"] == mode {
            return found;
        }
        assert!(Instant::now() < deadline, "{found}");
        thread::sleep(Duration::from_millis(100));
    }
}

#[test]
fn every_embedder_makes_searchable_vectors() {
    for (embedder, name) in EMBEDDERS {
        let office = Office::new(embedder, [Behaviour::Answer(answer)]);
        let id = office.save("The car is in the shed");
        office.save("Deploys happen on Tuesdays");
        let client = start(&office.background);
        office.wait_for_vectors();
        let found = search_by_meaning(&client, "semantic", "automobile garage");
        assert_eq!(found["hits"][0]["id"], json!(id));
        assert_eq!(found["plan"]["no_vectors"], Value::Null, "{found}");
        assert!(found["hits"][0]["score"].as_f64().unwrap() > 0.5, "{found}");
        search_by_meaning(&client, "hybrid", "automobile garage");
        let index = office.index();
        assert!(index["model"].as_str().unwrap().starts_with(name), "{index}");
        assert!(index["model"].as_str().unwrap().ends_with("/256"), "{index}");
        assert_eq!((&index["missing"], &index["trouble"]), (&json!(0), &Value::Null));
        let status = office.background.world.json(&["status"]);
        assert_eq!(
            (&status["embedder"]["provider"], &status["embedder"]["vectors"]),
            (&json!(embedder), &json!(2))
        );
        for request in office.fake.requests() {
            assert_eq!(request.headers["authorization"], format!("Bearer {KEY}"));
            let body: Value = serde_json::from_str(&request.body).unwrap();
            let is_question = request.body.contains("automobile");
            match embedder {
                "openai-compatible" => assert_eq!(request.path, "/v1/embeddings"),
                "ollama" => assert_eq!(request.path, "/api/embed"),
                _ if is_question => assert_eq!(body["input_type"], "query"),
                _ => assert_eq!(request.path, "/v1/embeddings"),
            }
        }
        // The command gives the same result without a daemon.
        assert!(office.background.command(&["daemon", "stop"]).output().unwrap().status.success());
        let here = office.background.world.json(&["search", "--mode", "semantic", "automobile"]);
        assert_eq!(
            (&here["plan"]["mode"], &here["hits"][0]["id"]),
            (&json!("semantic"), &json!(id)),
            "{here}"
        );
        let rebuilt = office.background.world.json(&["index", "rebuild"]);
        assert_eq!((&rebuilt["vectors"], &rebuilt["missing"]), (&json!(2), &json!(0)));
    }
}

#[test]
fn secrets_are_not_sent_to_an_embedder() {
    let office = Office::new("ollama", [Behaviour::Answer(answer)]);
    let secret = ["ghp_", "16C7e42F292c6912E7710c838347Ae178B4a"].concat();
    office.save("The bot logs in with a token");
    // As if it had been stored before there was a redaction rule for it.
    let database = Connection::open(office.background.world.data().join("remora.db")).unwrap();
    database
        .execute("UPDATE documents SET body = 'The bot logs in with ' || ?1 || ' every day'", [&secret])
        .unwrap();
    drop(database);
    let client = start(&office.background);
    office.wait_for_vectors();
    search_by_meaning(&client, "hybrid", &format!("does the bot use {secret}"));
    let sent: Vec<String> = office.fake.requests().into_iter().map(|request| request.body).collect();
    assert!(sent.iter().any(|body| body.contains("every day")), "{sent:?}");
    assert!(sent.iter().any(|body| body.contains("does the bot use")), "{sent:?}");
    assert!(sent.iter().all(|body| !body.contains(&secret) && !body.contains(KEY)), "{sent:?}");
}

#[test]
fn after_any_bad_answer_keyword_search_works_and_vectors_follow() {
    let error = |status| Behaviour::json(status, &json!({ "error": { "message": "not today" } }));
    let failures = [
        ("HTTP 401", error(401)),
        ("HTTP 429", error(429).with_header("retry-after", "1")),
        ("HTTP 500", error(500)),
        ("points elsewhere", error(302).with_header("location", "http://127.0.0.1:1/")),
        ("no JSON", Behaviour::body("<html>")),
        ("no vectors in the answer", Behaviour::body("{}")),
        ("vectors came for", Behaviour::json(200, &json!({ "data": [{ "embedding": [1, 2] }] }))),
        (
            "other than numbers",
            Behaviour::json(200, &json!({ "data": vec![json!({ "embedding": [null, 2] }); 6] })),
        ),
        ("over-long", Behaviour::Endless),
        ("the connection broke", Behaviour::Reset),
    ];
    thread::scope(|scope| {
        for (reason, failure) in failures {
            scope.spawn(move || {
                let office = Office::new("voyage", [failure, Behaviour::Answer(answer)]);
                let id = office.save("The car is in the shed");
                let client = start(&office.background);
                let found = search(&client, "hybrid", "car");
                assert_eq!(found["hits"][0]["id"], json!(id), "{reason}");
                // The reason is logged once.
                let log = office.background.world.data().join("remora.log");
                let said = || fs::read_to_string(&log).unwrap_or_default();
                office.wait(reason, || said().contains(reason));
                office.wait_for_vectors();
                office.wait("its recovery", || office.index()["trouble"] == Value::Null);
                assert_eq!(said().matches(reason).count(), 1, "{}", said());
                assert_eq!(search_by_meaning(&client, "semantic", "automobile")["hits"][0]["id"], json!(id));
            });
        }
    });
}

#[test]
fn an_embedder_with_retry_after_is_not_called_before_then_or_a_settings_change() {
    let busy = Behaviour::json(429, &json!({ "error": { "message": "come back later" } }));
    let office = Office::new("ollama", [busy.with_header("retry-after", "3600")]);
    let id = office.save("The car is in the shed");
    let client = start(&office.background);
    office.wait("trouble", || office.index()["trouble"] != Value::Null);
    for _ in 0..5 {
        let found = search(&client, "hybrid", "car");
        assert_eq!((&found["plan"]["mode"], &found["hits"][0]["id"]), (&json!("text"), &json!(id)));
        assert!(found["plan"]["no_vectors"].as_str().unwrap().contains("come back later"), "{found}");
        office.save("Something else happens");
    }
    assert_eq!(office.fake.requests().len(), 1);
    let status = office.background.world.text(&["status"]);
    assert!(status.contains("ollama, nomic-embed-text: search by words only since"), "{status}");
    let doctor = office.background.world.text(&["doctor"]);
    assert!(doctor.contains("come back later"), "{doctor}");
    let rebuild = office.background.world.remora(&["index", "rebuild", "--resume"]);
    assert_eq!(rebuild.status.code(), Some(3), "{rebuild:?}");
    office.fake.set([Behaviour::Answer(answer)]);
    office.set("search.embedder_model", "bge-m3");
    office.wait_for_vectors();
    assert_eq!(office.index()["model"], "ollama/bge-m3/256");
}

#[test]
fn a_hanging_embedder_does_not_delay_search() {
    let office = Office::new("openai-compatible", [Behaviour::Hang]);
    let id = office.save("The car is in the shed, and the shed is behind the house");
    let world = &office.background.world;
    world.hook(&world.prompt("p1", "Where did I put the keys of the shed?"));
    let client = start(&office.background);
    office.wait("a question", || !office.fake.requests().is_empty());
    for _ in 0..3 {
        let found = search(&client, "hybrid", "car");
        assert_eq!((&found["plan"]["mode"], &found["hits"][0]["id"]), (&json!("text"), &json!(id)));
    }
    let reply = client.post(
        "/api/context/semantic",
        &json!({ "session_id": "session-one", "host": "claude-code", "log": false,
                 "prompt": "Is the car in the shed behind the house?" }),
    );
    assert_eq!(reply.json()["memories"][0]["id"], json!(id), "{reply:?}");
    assert!(reply.json()["degraded"].as_str().unwrap().contains("openai-compatible"), "{reply:?}");
    office.fake.set([Behaviour::Answer(answer)]);
    office.fake.release(&Behaviour::json(503, &json!({})));
    office.wait_for_vectors();
    assert_eq!(search_by_meaning(&client, "semantic", "automobile")["hits"][0]["id"], json!(id));
}

#[test]
fn doctor_says_when_an_embedder_is_late_for_every_prompt() {
    let office = Office::new("openai-compatible", [Behaviour::Hang]);
    let things = [
        ("car", "shed", "garden"),
        ("boat", "harbour", "lighthouse"),
        ("bike", "cellar", "bakery"),
        ("plane", "hangar", "runway"),
        ("tram", "depot", "bridge"),
    ];
    for (thing, place, near) in things {
        office.save(&format!("The {thing} is in the {place}, and the {place} is behind the {near}"));
    }
    let world = &office.background.world;
    world.hook(&world.prompt("p1", "Where did I put the keys?"));
    let client = start(&office.background);
    office.wait("a question", || !office.fake.requests().is_empty());
    for (number, (thing, place, near)) in (1..).zip(things) {
        assert!(!world.text(&["doctor"]).contains("too late"), "{number}");
        let prompt = format!("Is the {thing} in the {place} behind the {near}?");
        let reply = client.post(
            "/api/context/semantic",
            &json!({ "session_id": "session-one", "host": "claude-code", "prompt": prompt }),
        );
        assert!(reply.json()["degraded"].as_str().unwrap().contains("takes longer than"), "{reply:?}");
    }
    let doctor = world.text(&["doctor"]);
    assert!(doctor.contains("too late for each of the last 5 injections"), "{doctor}");
    assert!(doctor.contains("remora config set memory.auto_retrieve_ms"), "{doctor}");
}

#[test]
fn a_hanging_embedder_is_dropped_when_the_settings_change() {
    let office = Office::new("voyage", [Behaviour::Hang]);
    let id = office.save("The car is in the shed");
    let client = start(&office.background);
    office.wait("a question", || !office.fake.requests().is_empty());
    office.set("search.embedder", "builtin");
    office.wait_for_vectors();
    let found = search_by_meaning(&client, "semantic", "where is the automobile");
    assert_eq!(found["hits"][0]["id"], json!(id));
}

#[test]
fn settings_that_cannot_work_say_what_to_do() {
    let office = Office::new("voyage", [Behaviour::Answer(answer)]);
    office.background.world.text(&["config", "set", "search.embedder_api_key", "--unset"]);
    office.background.world.text(&["config", "set", "search.embedder_url", "--unset"]);
    let said = office.background.world.remora(&["config", "set", "search.embedder", "voyage"]);
    let command = "remora config set search.embedder_api_key -";
    assert!(String::from_utf8_lossy(&said.stderr).contains(command), "{said:?}");
    office.save("The car is in the shed");
    let client = start(&office.background);
    let found = search(&client, "hybrid", "car");
    assert!(found["plan"]["no_vectors"].as_str().unwrap().contains(command), "{found}");
    assert_eq!(found["hits"].as_array().unwrap().len(), 1);
    for arguments in [&["doctor"][..], &["status"], &["index", "status"]] {
        let shown = office.background.world.remora(arguments);
        assert!(String::from_utf8_lossy(&shown.stdout).contains(command), "{arguments:?}");
        assert_eq!(shown.status.code(), Some(i32::from(arguments == ["doctor"])), "{arguments:?}");
    }
    assert!(office.fake.requests().is_empty());
}

#[test]
fn changing_the_embedder_rebuilds_all_vectors_in_both_directions() {
    let office = Office::new("builtin", [Behaviour::Answer(answer)]);
    let id = office.save("The car is in the shed");
    for number in 0..40 {
        office.save(&format!("Deploy number {number} happened on a Tuesday"));
    }
    let client = start(&office.background);
    let models = |model: &str| {
        office.wait(model, || {
            // At any point during the change, search returns the hit.
            assert_eq!(search(&client, "hybrid", "car")["hits"][0]["id"], json!(id));
            office.index()["missing"] == 0 && office.index()["model"] == model
        });
        office.wait_for_vectors();
        assert_eq!(office.count("SELECT count(*) FROM vectors"), 41);
        let found = search_by_meaning(&client, "semantic", "automobile");
        assert_eq!(found["hits"][0]["id"], json!(id));
    };
    models(remora_embed::MODEL);
    office.set("search.embedder", "voyage");
    models("voyage/voyage-4-lite/256");
    office.set("search.embedder", "ollama");
    models("ollama/nomic-embed-text/256");
    office.set("search.embedder", "builtin");
    models(remora_embed::MODEL);
    // An embedder that never answers does not remove existing vectors.
    office.fake.set([Behaviour::json(500, &json!({}))]);
    office.set("search.embedder", "voyage");
    office.wait("trouble", || office.index()["trouble"] != Value::Null);
    office.set("search.embedder", "builtin");
    models(remora_embed::MODEL);
}

#[test]
fn a_model_replaced_under_the_same_name_gets_new_vectors() {
    let office = Office::new("ollama", [Behaviour::Answer(answer)]);
    office.save("The car is in the shed");
    let client = start(&office.background);
    office.wait_for_vectors();
    office.fake.set([Behaviour::Answer(answer_smaller)]);
    let second = office.save("The boat is on the lake");
    office.wait("the smaller one", || office.index()["model"] == "ollama/nomic-embed-text/32");
    office.wait_for_vectors();
    assert_eq!(office.count("SELECT count(*) FROM vectors WHERE length(value) = 32"), 2);
    assert_eq!(search_by_meaning(&client, "semantic", "boat lake")["hits"][0]["id"], json!(second));
}

#[test]
fn turns_excluded_from_the_index_have_no_vectors() {
    let office = Office::new("voyage", [Behaviour::Answer(answer)]);
    office.set("search.index_turns", "false");
    let world = &office.background.world;
    turn(world, "one", 1, |message| world.hook(message));
    let client = start(&office.background);
    let turns = |embedded: u8| {
        office.count(&format!("SELECT count(*) FROM documents WHERE kind = 'turn' AND embedded = {embedded}"))
    };
    office.wait("the turn", || turns(2) == 1);
    office.wait_for_vectors();
    let vectors =
        "SELECT count(*) FROM vectors AS v JOIN documents AS d ON d.id = v.document_id WHERE d.kind = 'turn'";
    assert_eq!(office.count(vectors), 0);
    let text = office.background.world.text(&["index", "status"]);
    assert!(text.contains("1 turn left out: search.index_turns is false"), "{text}");
    assert_eq!(office.index()["missing"], 0);
    office.set("search.index_turns", "true");
    office.wait("its vector", || turns(1) == 1);
    assert_eq!(office.count(vectors), 1);
    search_by_meaning(&client, "semantic", "fix bug");
}

#[test]
fn a_refused_text_does_not_block_the_others() {
    let office = Office::new("voyage", [Behaviour::Answer(answer_unless_poisoned)]);
    for number in 0..5 {
        office.save(&format!("Lorry {number} is in the yard"));
    }
    let refused = office.save("There is arsenic in the tea");
    let id = office.save("The car is in the shed");
    let client = start(&office.background);
    office.wait_for_vectors();
    assert_eq!(office.count("SELECT count(*) FROM vectors WHERE scale = 0"), 1);
    assert_eq!(search_by_meaning(&client, "semantic", "automobile")["hits"][0]["id"], json!(id));
    // A refused query falls back to keywords, and the next one uses vectors again.
    let found = search(&client, "hybrid", "arsenic");
    assert_eq!((&found["plan"]["mode"], &found["hits"][0]["id"]), (&json!("text"), &json!(refused)));
    search_by_meaning(&client, "semantic", "automobile");
}

/// A unique text, made of forty different words.
fn wheel(number: usize) -> String {
    let digits = [number / 1000, number / 100, number / 10, number].map(|part| part % 10);
    let [first, second, third, fourth] = digits;
    format!("Wheel first{first} second{second} third{third} fourth{fourth}")
}

/// Inserts further observations, without index entries.
fn save_more(data: &Path, count: usize) {
    let mut database = Connection::open(data.join("remora.db")).unwrap();
    let transaction = database.transaction().unwrap();
    for number in 1..count {
        transaction
            .prepare_cached(
                "INSERT INTO observations (uuid, session_id, project_id, prompt_number, type, title, subtitle, narrative,
                     facts, discovery_tokens, content_hash, source_event_ids, provider, model, created_at, updated_at)
                 SELECT randomblob(16), session_id, project_id, prompt_number, type, ?1, '', ?1, facts, 0,
                     hex(randomblob(8)), source_event_ids, provider, model, created_at, updated_at
                 FROM observations WHERE id = 1",
            )
            .unwrap()
            .execute([wheel(number)])
            .unwrap();
    }
    let missing = "INSERT OR REPLACE INTO meta (key, value) VALUES ('documents_missing', x'01')";
    transaction.execute(missing, []).unwrap();
    transaction.commit().unwrap();
}

#[test]
fn a_daemon_killed_while_indexing_ten_thousand_observations_resumes() {
    const NOTES: usize = 10_000;
    let office = Office::new("ollama", [Behaviour::Answer(answer)]);
    office.save(&wheel(0));
    save_more(&office.background.world.data(), NOTES);
    let vectors = || office.count("SELECT count(*) FROM vectors");
    let all = i64::try_from(NOTES).unwrap();
    for _ in 0..3 {
        let before = vectors();
        start(&office.background);
        office.wait("some vectors", || vectors() > before);
        let pid = Pid::from_raw(i32::try_from(office.background.pid().unwrap()).unwrap()).unwrap();
        kill_process(pid, Signal::KILL).unwrap();
        office.wait("its end", || office.background.pid().is_none());
    }
    assert!(vectors() < all, "the daemon finished before the test could kill it");
    let client = start(&office.background);
    office.wait("all vectors", || vectors() >= all);
    office.wait_for_vectors();
    assert_eq!(vectors(), all);
    let observations = "SELECT count(*) FROM observations AS o WHERE
        (SELECT count(*) FROM documents AS d JOIN vectors AS v ON v.document_id = d.id
         WHERE d.kind = 'observation' AND d.record_id = o.id AND length(v.value) = 256) = 1";
    assert_eq!(office.count(observations), all);
    for number in (0..NOTES).step_by(101) {
        let found = search_by_meaning(&client, "semantic", &wheel(number));
        let id = json!((number + 1).to_string());
        let is_it = |hit: &Value| {
            hit["id"] == id || hit["duplicates"].as_array().is_some_and(|same| same.contains(&id))
        };
        assert!(found["hits"].as_array().unwrap().iter().any(is_it), "{number}: {found:#}");
    }
}
