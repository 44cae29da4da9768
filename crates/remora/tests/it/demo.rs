use crate::support::{World, contains};

#[test]
fn the_demo_shows_what_is_captured_and_leaves_no_traces() {
    let world = World::new();
    let output = world.command(&["demo"]).env("TZ", "UTC").output().unwrap();
    assert!(output.status.success(), "{output:?}");
    insta::assert_snapshot!(world.neutral(&output.stdout));
    assert!(!world.data().exists());
    let left: Vec<_> =
        std::fs::read_dir(world.path(".")).unwrap().map(|entry| entry.unwrap().file_name()).collect();
    assert_eq!(left.len(), 2, "{left:?}");
}

#[test]
fn the_demo_tells_its_story_on_one_screen() {
    let world = World::new();
    let output = world.command(&["demo"]).env("COLUMNS", "80").output().unwrap();
    let text = world.neutral(&output.stdout);
    assert!(text.lines().count() <= 60, "{text}");
    assert!(text.lines().all(|line| line.chars().count() <= 80), "{text}");
    let (session, rest) = text.split_once("What the built-in observer learned").unwrap();
    let (learned, recalled) = rest.split_once("Two days later").unwrap();
    assert!(session.contains("secrets redacted") && session.contains("a private turn"), "{session}");
    assert!(learned.contains("#2 Money is whole cents"), "{learned}");
    let (answered, strange) = recalled.split_once("</remora-context>").unwrap();
    let answered = answered.split_whitespace().collect::<Vec<_>>().join(" ");
    assert!(answered.contains("The reason is less the float itself than Tern's rounding rule"), "{answered}");
    assert!(strange.contains("nothing, because memory does not answer it"), "{strange}");
}

#[test]
fn the_demo_can_be_kept_and_holds_no_secret() {
    let world = World::new();
    let kept = world.path("kept");
    let kept_text = kept.to_string_lossy().into_owned();
    let shown = world.text(&["demo", "--keep", &kept_text]);
    assert!(shown.contains("80 sessions and 304 observations in all"), "{shown}");
    let bytes = world.all_bytes();
    for secret in ["harbour-lantern", "Jonas", "4150", "6.5 percent", "demo-7f3c9a51e2b84d06"] {
        assert!(!contains(&bytes, secret), "{secret}");
    }
    let output = world.command(&["status", "--json"]).env("REMORA_DATA_DIR", &kept).output().unwrap();
    let status: serde_json::Value = serde_json::from_slice(&output.stdout).unwrap();
    assert_eq!(status["counts"]["sessions"], 80);
    let found = world
        .command(&["search", "why magic links and not passwords", "--all"])
        .env("REMORA_DATA_DIR", &kept)
        .output()
        .unwrap();
    assert!(String::from_utf8_lossy(&found.stdout).contains("Magic links instead of passwords"), "{found:?}");
    let again = world.remora(&["demo", "--keep", &kept_text]);
    assert_eq!(again.status.code(), Some(2));
}
