//! Answers as real models write them.

use std::fmt::Write as _;

use proptest::prelude::*;
use remora_core::fact::{FactSource, LearnedFact};
use remora_core::memory::{Memory, Observation, ObservationType, Summary};
use remora_observer::answer::{Outcome, ParsedAnswer, Problem, parse};

/// An answer on a few lines: the parts that are kept, then the problems after `!`.
fn described(answer: &ParsedAnswer) -> String {
    let mut lines = Vec::new();
    match &answer.outcome {
        Outcome::Nothing => lines.push("nothing".to_owned()),
        Outcome::Unparseable { .. } => lines.push("unparseable".to_owned()),
        Outcome::Memory { observations, summary, .. } => {
            lines.extend(observations.iter().map(observation_line));
            lines.extend(summary.iter().map(summary_line));
        }
    }
    lines.extend(answer.problems.iter().map(|problem| format!("! {problem}")));
    lines.join("\n")
}

fn observation_line(observation: &Observation) -> String {
    let mut line = format!("{}: {}", observation.kind, observation.title);
    for (name, text) in [("sub", &observation.subtitle), ("text", &observation.narrative)] {
        if !text.is_empty() {
            write!(line, " | {name} {text:?}").unwrap();
        }
    }
    let lists = [
        ("facts", &observation.facts),
        ("concepts", &observation.concepts),
        ("read", &observation.files_read),
        ("modified", &observation.files_modified),
    ];
    for (name, list) in lists {
        if !list.is_empty() {
            write!(line, " | {name} {list:?}").unwrap();
        }
    }
    line
}

fn summary_line(summary: &Summary) -> String {
    assert!(summary.files_read.is_empty() && summary.files_edited.is_empty());
    let fields = [
        ("request", &summary.request),
        ("investigated", &summary.investigated),
        ("learned", &summary.learned),
        ("completed", &summary.completed),
        ("next", &summary.next_steps),
        ("notes", &summary.notes),
    ];
    let mut line = "summary".to_owned();
    for (name, text) in fields.iter().filter(|(_, text)| !text.is_empty()) {
        write!(line, " | {name} {text:?}").unwrap();
    }
    line
}

/// Checks cases of name, answer and expected result.
fn check(cases: &[(&str, &str, &str)]) {
    let mut wrong = String::new();
    for (name, input, expected) in cases {
        let found = described(&parse(input));
        if found != *expected {
            writeln!(wrong, "--- {name}\n{input}\n--- expected\n{expected}\n--- found\n{found}\n").unwrap();
        }
    }
    assert!(wrong.is_empty(), "{wrong}");
}

#[test]
fn an_answer_that_follows_the_contract_is_kept_unchanged() {
    check(&[
        (
            "a whole observation",
            "<observation>\n  <type>bugfix</type>\n  <title>Streaks survive clock changes</title>\n  \
             <subtitle>Days are dates</subtitle>\n  <narrative>Because\n  of DST.</narrative>\n  <facts>\n    \
             <fact>One</fact>\n    <fact>Two, too</fact>\n  </facts>\n  <concepts><concept>gotcha</concept></concepts>\n  \
             <files_read><file>a.rs</file></files_read>\n  <files_modified><file>b.rs</file><file>c d.rs</file>\
             </files_modified>\n</observation>",
            "bugfix: Streaks survive clock changes | sub \"Days are dates\" | text \"Because\\n  of DST.\" \
             | facts [\"One\", \"Two, too\"] | concepts [\"gotcha\"] | read [\"a.rs\"] | modified [\"b.rs\", \"c d.rs\"]",
        ),
        (
            "a whole summary",
            "<summary><request>r</request><investigated>i</investigated><learned>l</learned>\
             <completed>c</completed><next_steps>n</next_steps><notes>o</notes></summary>",
            "summary | request \"r\" | investigated \"i\" | learned \"l\" | completed \"c\" | next \"n\" | notes \"o\"",
        ),
        (
            "observations and a summary",
            "<observation><type>change</type><title>A</title></observation>\
             <observation><type>decision</type><title>B</title></observation><summary><request>r</request></summary>",
            "change: A\ndecision: B\nsummary | request \"r\"",
        ),
        ("skip", "<skip/>", "nothing"),
        ("skip with a reason", "<skip>only reads</skip>", "nothing"),
        ("skip in capitals, fenced", "```xml\n<SKIP />\n```", "nothing"),
        ("skip between backticks", "`<skip/>`", "nothing"),
        ("skip with words around", "Nothing of note here.\n\n<skip/>\n", "nothing"),
        ("skip within an observation", "<observation><skip/></observation>", "nothing"),
        ("an empty answer", "", "nothing"),
        ("blanks", " \n\t\0\u{feff}", "nothing"),
        ("an empty fence", "```xml\n```", "nothing"),
        ("nothing behind a thought", "<think>Only reads.</think>\n", "nothing"),
    ]);
}

#[test]
fn text_around_the_elements_does_not_matter() {
    let plain = "feature: A | text \"n\"";
    let element = "<observation><type>feature</type><title>A</title><narrative>n</narrative></observation>";
    for around in [
        "```xml\n{}\n```",
        "```\n{}\n```\nLet me know if you need more.",
        "Here is the observation you asked for:\n\n{}\n\nI hope this helps!",
        "Sure! ```xml {} ```",
        "<response>\n<observations>\n{}\n</observations>\n</response>",
        "<?xml version=\"1.0\"?>\n<!DOCTYPE x>\n<memory version='2'>{}</memory>",
        "<think>First <observation><title>Draft</title></observation>, or <skip/>?</think>\n{}",
        "Okay.\n<thinking>\n<skip/>\n</thinking>\n{}",
        "I should write <observation><title>Draft</title> or so.\n</think>\n{}",
        "<!-- <observation><title>Template</title></observation> -->\n{}",
        "Following the `<observation>` format and not `<skip/>`:\n{}",
        "<![CDATA[{}]]>",
        "\u{feff}{}\0",
        "<observation></think>{}",
    ] {
        let answer = parse(&around.replace("{}", element));
        assert_eq!(described(&answer), plain, "{around}");
    }
}

#[test]
fn tags_are_recognised_in_any_spelling() {
    check(&[
        (
            "any case, blanks, attributes",
            "<Observation id=\"1\">\n< TYPE >Bug-Fix</ Type >\n<title lang='en'>A</title >\n<NARRATIVE\n>n</narrative></OBSERVATION>",
            "bugfix: A | text \"n\"",
        ),
        (
            "the type as an attribute",
            "<observation type=\"decision\"><title>A</title></observation>",
            "decision: A",
        ),
        (
            "the type as a value",
            "<observation><type value=refactor /><title>A</title></observation>",
            "refactor: A",
        ),
        (
            "self-closing tags",
            "<observation><type>change</type><title>A</title><subtitle/><facts /><files_read/></observation>",
            "change: A",
        ),
        (
            "files as attributes",
            "<observation><type>change</type><title>A</title><files_read><file path=\"a.rs\"/></files_read></observation>",
            "change: A | read [\"a.rs\"]",
        ),
        (
            "other spellings of the names",
            "<session-summary><request>r</request><nextSteps>n</nextSteps><next-steps></next-steps></session-summary>",
            "summary | request \"r\" | next \"n\"",
        ),
    ]);
}

#[test]
fn text_is_unescaped_once_and_cleaned() {
    let narrative = |raw: &str| {
        let answer = format!(
            "<observation><type>change</type><title>A</title><narrative>{raw}</narrative></observation>"
        );
        match parse(&answer) {
            ParsedAnswer { outcome: Outcome::Memory { observations, .. }, problems }
                if problems.is_empty() =>
            {
                observations[0].narrative.clone()
            }
            other => panic!("{other:?}"),
        }
    };
    for (raw, expected) in [
        ("a &lt; b &amp;&amp; c &gt; d", "a < b && c > d"),
        ("&quot;it&#39;s&#x27;&quot;&nbsp;x", "\"it's'\" x"),
        ("&amp;lt;b&amp;gt;", "&lt;b&gt;"),
        ("Vec<String> & <div>", "Vec<String> & <div>"),
        ("<![CDATA[if a < b && <title> &lt;]]>", "if a < b && <title> &lt;"),
        ("before <![CDATA[</narrative></observation>]]> after", "before </narrative></observation> after"),
        ("\u{1b}[31mred\u{1b}[0m \0x\r\ny", "[31mred[0m x\ny"),
        ("  \n  two\n  lines\n ", "two\n  lines"),
    ] {
        assert_eq!(narrative(raw), expected, "{raw}");
    }
}

#[test]
fn lists_come_as_items_json_or_lines() {
    let head = "<observation><type>change</type><title>A</title>";
    for (list, expected) in [
        ("<facts>[\"a\", \"b, c\"]</facts>", "facts [\"a\", \"b, c\"]"),
        ("<facts>\n- a\n- b, c\n</facts>", "facts [\"a\", \"b, c\"]"),
        ("<facts>\na\nb, c\n</facts>", "facts [\"a\", \"b, c\"]"),
        ("<facts>1. a\n2. b, c</facts>", "facts [\"a\", \"b, c\"]"),
        ("<facts><item>a</item><li>b, c</li></facts>", "facts [\"a\", \"b, c\"]"),
        ("<facts><fact>a<fact>b, c</fact></facts>", "facts [\"a\", \"b, c\"]"),
        ("<facts><fact>a</fact></facts><facts><fact>b, c</fact></facts>", "facts [\"a\", \"b, c\"]"),
        ("<fact>a</fact><fact>b, c</fact>", "facts [\"a\", \"b, c\"]"),
        ("<facts><fact>a</facts><fact>b, c</fact></facts>", "facts [\"a\", \"b, c\"]"),
        ("<facts><![CDATA[[\"a\", \"b, c\"]]]></facts>", "facts [\"a\", \"b, c\"]"),
        ("<facts>The facts:<fact>a</fact> and <fact>b, c</fact></facts>", "facts [\"a\", \"b, c\"]"),
        (
            "<concepts>How it works, gotcha, zen</concepts>",
            "concepts [\"how-it-works\", \"gotcha\", \"zen\"]",
        ),
        ("<files_read>`a.rs`, b.rs</files_read>", "read [\"a.rs\", \"b.rs\"]"),
        ("<files_modified><file>None</file><file>a.rs</file></files_modified>", "modified [\"a.rs\"]"),
        ("<files_modified></files_read><file>a.rs</file></files_modified>", "modified [\"a.rs\"]"),
    ] {
        let answer = parse(&format!("{head}{list}</observation>"));
        assert_eq!(described(&answer), format!("change: A | {expected}"), "{list}");
    }
    check(&[(
        "an array that is no JSON",
        "<observation><type>change</type><title>A</title><facts>['a', 'b, c']</facts></observation>",
        "change: A | facts [\"a\", \"b, c\"]\n! `facts` was malformed JSON",
    )]);
}

#[test]
fn missing_and_wrong_closing_tags_are_overcome() {
    check(&[
        (
            "no field is closed",
            "<observation><type>change<title>A<narrative>n<facts><fact>f</facts></observation>",
            "change: A | text \"n\" | facts [\"f\"]\n! `type` was not closed\n! `title` was not closed\n\
             ! `narrative` was not closed",
        ),
        (
            "another tag closes it",
            "<observation><type>change</type><title>A</subtitle><narrative>n</narrative></observation>",
            "change: A | text \"n\"\n! `title` was not closed",
        ),
        (
            "a misspelt tag closes it",
            "<observation><type>change</type><title>A</titel><narrative>n</narrative></observation>",
            "change: A | text \"n\"\n! `title` was not closed",
        ),
        (
            "an opening tag closes it",
            "<observation><type>change</type><title>A<title><narrative>n</narrative></observation>",
            "change: A | text \"n\"\n! `title` was not closed",
        ),
        (
            "the observation is not closed before the next",
            "<observation><type>change</type><title>A</title>\n<observation><type>change</type><title>B</title></observation>",
            "change: A\nchange: B\n! `observation` was not closed",
        ),
        (
            "neither field nor observation is closed before the next",
            "<observation><type>change</type><title>A</title><narrative>n\n\
             <observation><type>change</type><title>B</title><narrative>m</narrative></observation>",
            "change: A | text \"n\"\nchange: B | text \"m\"\n! `narrative` was not closed\n! `observation` was not closed",
        ),
        (
            "a summary follows an open observation",
            "<observation><type>change</type><title>A</title><summary><request>r</request></summary>",
            "change: A\nsummary | request \"r\"\n! `observation` was not closed",
        ),
        (
            "closed in the wrong order",
            "<observation><type>change</type><title>A</title><narrative>n</observation></narrative>",
            "change: A | text \"n\"\n! `narrative` was not closed",
        ),
        (
            "fields without an observation",
            "<type>change</type><title>A</title><narrative>n</narrative>\n\
             <type>bugfix</type><title>B</title><narrative>m</narrative>",
            "change: A | text \"n\"\nbugfix: B | text \"m\"\n! fields without `observation` around them",
        ),
        (
            "fields without a summary",
            "<request>r</request>\n<learned>l</learned>",
            "summary | request \"r\" | learned \"l\"\n! fields without `summary` around them",
        ),
        (
            "nested in another observation",
            "<observation><observation><type>change</type><title>A</title></observation></observation>",
            "change: A\n! `observation` was not closed\n! `observation` without content was dropped",
        ),
    ]);
}

#[test]
fn an_answer_cut_off_keeps_what_is_complete_enough() {
    check(&[
        (
            "within the narrative",
            "<observation><type>change</type><title>A</title><narrative>Because of the",
            "change: A | text \"Because of the\"\n! the answer ended within `narrative`\n! `observation` was not closed",
        ),
        (
            "within a closing tag",
            "```xml\n<observation><type>change</type><title>A</title><narrative>Because.</narr",
            "change: A | text \"Because.\"\n! the answer ended within `narrative`\n! `observation` was not closed",
        ),
        (
            "within a fact, which is dropped",
            "<observation><type>change</type><title>A</title><facts><fact>f</fact><fact>Never do",
            "change: A | facts [\"f\"]\n! the answer ended within `facts`\n! `observation` was not closed",
        ),
        (
            "within the second title, which is dropped",
            "<observation><type>change</type><title>A</title></observation><observation><type>bugfix</type><title>Half a",
            "change: A\n! the answer ended within `title`\n! `observation` was not closed\n\
             ! `observation` without content was dropped",
        ),
        (
            "within the only title",
            "<observation><type>bugfix</type><title>Half a",
            "unparseable\n! the answer ended within `title`\n! `observation` was not closed\n\
             ! `observation` without content was dropped",
        ),
        (
            "within a JSON array",
            "<observation><type>change</type><title>A</title><facts>[\"f\", \"Never",
            "change: A | facts [\"f\"]\n! the answer ended within `facts`\n! `facts` was malformed JSON\n\
             ! `observation` was not closed",
        ),
        (
            "within CDATA",
            "<observation><type>change</type><title>A</title><narrative><![CDATA[Because of",
            "change: A | text \"Because of\"\n! the answer ended within `narrative`\n! `observation` was not closed",
        ),
        ("within a thought", "<think>Maybe <skip/> or", "unparseable\n! the answer ended within a thought"),
        (
            "within the summary",
            "<summary><request>r</request><learned>That the",
            "summary | request \"r\" | learned \"That the\"\n! the answer ended within `learned`\n! `summary` was not closed",
        ),
    ]);
}

#[test]
fn odd_content_is_kept_with_a_problem() {
    check(&[
        (
            "an unknown type",
            "<observation><type>epiphany</type><title>A</title></observation>",
            "discovery: A\n! unknown type `epiphany`, taken as discovery",
        ),
        (
            "no type",
            "<observation><title>A</title></observation>",
            "discovery: A\n! no type, taken as discovery",
        ),
        (
            "no title",
            "<observation><type>change</type><narrative>The cache is now keyed by user and host, not by path alone. More.\
             </narrative></observation>",
            "change: The cache is now keyed by user and host | text \"The cache is now keyed by user and host, not by \
             path alone. More.\"\n! no title, made of the narrative",
        ),
        (
            "a long title",
            "<observation><type>change</type><title>one two three four five six seven eight nine ten</title></observation>",
            "change: one two three four five six seven eight nine\n! the title was longer than nine words and was cut",
        ),
        (
            "an empty observation beside a full one",
            "<observation><type>change</type><facts><fact>f</fact></facts></observation>\
             <observation><type>change</type><title>A</title></observation>",
            "change: A\n! `observation` without content was dropped",
        ),
        (
            "a title given twice",
            "<observation><type>change</type><title>A</title><title>B</title><title></title></observation>",
            "change: B\n! `title` was given more than once",
        ),
        (
            "two summaries",
            "<summary><request>r</request></summary><summary><request>s</request></summary>",
            "summary | request \"s\"\n! several summaries; the last one counts",
        ),
        (
            "an empty summary does not replace a full one",
            "<summary><request>r</request></summary><summary></summary>",
            "summary | request \"r\"\n! `summary` without content was dropped",
        ),
        (
            "skip beside an observation",
            "<skip/><observation><type>change</type><title>A</title></observation>",
            "change: A\n! `skip` next to memory was ignored",
        ),
        ("an empty wrapper", "<observations>\n</observations>", "nothing\n! an empty list instead of `skip`"),
        (
            "files of a summary are not asked for",
            "<summary><request>r</request><files_read><file>a.rs</file></files_read>\
             <files_edited><file>b.rs</file></files_edited></summary>",
            "summary | request \"r\"",
        ),
    ]);
}

#[test]
fn a_tag_that_is_mentioned_stays_text() {
    check(&[
        (
            "between backticks",
            "<observation><type>change</type><title>Parser skips `<title>` and `</title>` tags</title><narrative>It waits \
             for `</observation>` and `<facts><fact>`.</narrative></observation>",
            "change: Parser skips `<title>` and `</title>` tags | text \"It waits for `</observation>` and `<facts><fact>`.\"",
        ),
        (
            "in the title itself",
            "<observation><type>change</type><title>Every page has a <title> now</title></observation>",
            "change: Every page has a <title> now",
        ),
        (
            "a whole example",
            "<observation><type>change</type><title>A</title><narrative>Such as \
             <observation><title>x</title><narrative>y</narrative></observation> here.</narrative>\
             <facts><fact>f</fact></facts></observation>",
            "change: A | text \"Such as <observation><title>x</title><narrative>y</narrative></observation> here.\" \
             | facts [\"f\"]",
        ),
        (
            "opening tags in a sentence",
            "<observation><type>change</type><title>A</title><narrative>The <observation> holds a <title> and \
             <facts>; <skip/> means none, <think> is dropped.</narrative></observation>",
            "change: A | text \"The <observation> holds a <title> and <facts>; <skip/> means none, <think> is dropped.\"",
        ),
        (
            "closing tags in a sentence",
            "<observation><type>change</type><title>A</title><narrative>Without </title> or </observation> it goes \
             on.</narrative></observation>",
            "change: A | text \"Without </title> or </observation> it goes on.\"",
        ),
        (
            "in a fact",
            "<observation><type>change</type><title>A</title><facts><fact>A <file> holds a <title></fact>\
             <fact>`<fact>` too</fact></facts></observation>",
            "change: A | facts [\"A <file> holds a <title>\", \"`<fact>` too\"]",
        ),
    ]);
}

#[test]
fn json_with_the_same_names_is_an_answer_too() {
    let json = "! the answer was JSON instead of XML";
    let cases: &[(&str, &str, &str)] = &[
        (
            "the whole",
            r#"{"observations":[{"type":"bugfix","title":"A","narrative":"<title> &lt;","facts":["f"],"files_read":["a"]}],
                "summary":{"request":"r","next_steps":["one","two"]}}"#,
            "bugfix: A | text \"<title> &lt;\" | facts [\"f\"] | read [\"a\"]\nsummary | request \"r\" | next \"one\\ntwo\"",
        ),
        (
            "fenced",
            "```json\n{\"observations\": [{\"type\": \"change\", \"title\": \"A\"}]}\n```",
            "change: A",
        ),
        (
            "prose around",
            "Here:\n{\"observation\": {\"type\": \"change\", \"title\": \"A\"}}\nDone {ok}.",
            "change: A",
        ),
        (
            "an array",
            r#"[{"type":"change","title":"A"},{"type":"change","title":"B"}]"#,
            "change: A\nchange: B",
        ),
        (
            "one alone",
            r#"{"type":"change","title":"A","filesModified":"a.rs, b.rs"}"#,
            "change: A | modified [\"a.rs\", \"b.rs\"]",
        ),
        (
            "a summary alone",
            r#"{"request":"r","completed":"c"}"#,
            "summary | request \"r\" | completed \"c\"",
        ),
        (
            "a wrapper",
            r#"{"response":{"data":{"observations":[{"type":"change","title":"A"}]}}}"#,
            "change: A",
        ),
        (
            "behind a thought",
            "<think>{\"title\":\"no\"}</think>{\"type\":\"change\",\"title\":\"A\"}",
            "change: A",
        ),
        (
            "within tags",
            "<observations><observation>{\"type\":\"change\",\"title\":\"A\"}</observation></observations>",
            "change: A",
        ),
        (
            "cut off",
            r#"{"observations":[{"type":"change","title":"A"},{"type":"change","title":"B"},{"type":"ch"#,
            "change: A\nchange: B",
        ),
        (
            "tags in its strings",
            r#"{"type":"change","title":"A","narrative":"<observation><title>x</title></observation>"}"#,
            "change: A | text \"<observation><title>x</title></observation>\"",
        ),
        ("skip", r#"{"skip": true}"#, "nothing"),
        ("only a summary", r#"{"observations":[],"summary":{"request":"r"}}"#, "summary | request \"r\""),
    ];
    for (name, input, expected) in cases {
        assert_eq!(described(&parse(input)), format!("{expected}\n{json}"), "{name}");
    }
    check(&[(
        "none",
        r#"{"observations": [], "summary": null}"#,
        "nothing\n! the answer was JSON instead of XML\n! an empty list instead of `skip`",
    )]);
}

#[test]
fn text_without_an_answer_is_unparseable() {
    check(&[
        ("prose", "The agent fixed the bug.", "unparseable\n! no tag of the contract was found"),
        ("a word for nothing", "skip", "unparseable\n! no tag of the contract was found"),
        ("a refusal", "I'm sorry, I can't help with that.", "unparseable\n! the observer declined to answer"),
        ("a curly refusal", "I can’t assist with <this>.", "unparseable\n! the observer declined to answer"),
        (
            "a page of a proxy",
            "<!DOCTYPE html><html><head><title>502 Bad Gateway</title></head><body>nginx</body></html>",
            "unparseable\n! no tag of the contract was found",
        ),
        (
            "an error in JSON",
            r#"{"error":{"type":"overloaded","message":"busy"}}"#,
            "unparseable\n! no tag of the contract was found",
        ),
        ("a mention", "I would use `<skip/>` for this.", "unparseable\n! no tag of the contract was found"),
        (
            "tags of others",
            "<memory><note>x</note></memory>",
            "unparseable\n! no tag of the contract was found",
        ),
        (
            "only an empty observation",
            "<observation/>",
            "unparseable\n! `observation` without content was dropped",
        ),
        ("an open wrapper", "<observations>", "unparseable\n! no tag of the contract was found"),
        (
            "broken JSON",
            "{\"observations\": [{\"title\": }]}",
            "unparseable\n! no tag of the contract was found",
        ),
    ]);
}

#[test]
fn the_beginning_of_an_unparseable_answer_is_kept() {
    let answer = parse(&format!("  Well\0, {}", "ä".repeat(1000)));
    let Outcome::Unparseable { beginning } = answer.outcome else { panic!("{answer:?}") };
    assert_eq!(beginning, format!("Well, {}", "ä".repeat(494)));
}

#[test]
fn everything_kept_is_bounded() {
    let long = "word ".repeat(10_000);
    let facts = (0..500).fold(String::new(), |facts, n| facts + &format!("<fact>{n} {long}</fact>"));
    let one = format!(
        "<observation><type>{long}</type><title>{}</title><subtitle>{long}</subtitle><narrative>{long}</narrative>\
         <facts>{facts}</facts></observation>",
        "x".repeat(100_000)
    );
    let summary = format!("<summary><request>{long}</request></summary>");
    let answer =
        parse(&format!("{one}{}{summary}", "<observation><title>A</title></observation>".repeat(200)));
    let Outcome::Memory { observations, summary: Some(summary), .. } = answer.outcome else { panic!() };
    assert_eq!(observations.len(), 50);
    let first = &observations[0];
    assert_eq!(first.title.chars().count(), 151);
    assert_eq!(first.facts.len(), 50);
    assert!(first.subtitle.len() < 310 && first.narrative.len() < 8_010 && summary.request.len() < 4_010);
    assert!(first.facts.iter().all(|fact| fact.len() < 1_010));
    assert!(answer.problems.contains(&Problem::TooManyObservations), "{:?}", answer.problems);
    assert!(answer.problems.iter().all(|problem| problem.to_string().len() < 120), "{:?}", answer.problems);
}

/// Units that could make a careless parser read the same text repeatedly, or keep all of it.
#[rustfmt::skip]
const TORTURE: &[&str] = &[
    "garbage ", "<", "</", "&", "&#", "`", "[", "{\"", "[{\"a\":", "[1,", "{\"title\":\"a\"}",
    "<observation>", "</observation>", "<observation ", "<observation type=\"", "<observation><title>",
    "<observation><title>x</title>", "<observation><narrative>\n", "<summary><notes>", "<title>",
    "<title></title>", "<title><request>", "</title>", "<narrative>`<title>", "<facts><fact>", "<fact>",
    "<think>", "</think>", "<think></think>", "<!--", "<![CDATA[", "<narrative><![CDATA[", "<skip/>",
    "<observations></observations>", "<div><span>", "\0", "é",
];

fn repeated(unit: &str, bytes: usize) -> String {
    unit.repeat(bytes / unit.len())
}

#[test]
fn ten_megabytes_of_anything_are_read_to_the_end() {
    for unit in [
        "garbage ",
        "<",
        "[1,",
        "{\"",
        "<observation>",
        "<observation><title>x",
        "<div><span>",
        "<think>",
        "\0",
    ] {
        let answer = parse(&repeated(unit, 10 << 20));
        assert!(answer.problems.len() <= 30, "{unit}");
    }
}

#[test]
fn a_megabyte_of_anything_anywhere_is_read_to_the_end() {
    let places = [("", ""), ("<observation><title>", "</title></observation>"), ("<observation><facts>", "")];
    for unit in TORTURE {
        for (before, after) in places {
            let answer = parse(&format!("{before}{}{after}", repeated(unit, 1 << 20)));
            assert!(answer.problems.len() <= 30, "{before}{unit}");
        }
    }
}

#[test]
fn long_runs_of_blanks_are_not_read_repeatedly() {
    let blanks = " ".repeat(10 << 20);
    for (before, after) in [
        ("<title>", "<observation><title>A</title></observation>"),
        ("<observation><narrative>", "</observation>x</narrative>"),
        ("</title>", "</title>"),
        ("</think>", "<skip/>"),
        ("{", "}"),
        ("`<title>", "`"),
    ] {
        parse(&format!("{}{blanks}{}", before.repeat(250), after.repeat(250)));
    }
}

fn words(most: usize) -> impl Strategy<Value = String> {
    proptest::collection::vec("[^\\s\\p{C}\\u{feff}]{1,8}", 1..=most).prop_map(|words| words.join(" "))
}

/// Several lines, with anything a narrative may contain.
fn prose() -> impl Strategy<Value = String> {
    let piece = prop_oneof![
        words(6),
        Just("<title>".to_owned()),
        Just("</narrative>".to_owned()),
        Just("&lt;".to_owned()),
        Just("```\n]]>".to_owned()),
        Just("<![CDATA[".to_owned()),
    ];
    proptest::collection::vec(piece, 0..5).prop_map(|pieces| pieces.join("\n").trim().to_owned())
}

fn list() -> impl Strategy<Value = Vec<String>> {
    proptest::collection::btree_set("[a-z][a-z/._<>&#-]{3,20}[a-z]x", 0..6)
        .prop_map(|items| items.into_iter().filter(|item| item != "none").collect())
}

const KINDS: &[&str] = &["bugfix", "feature", "refactor", "change", "discovery", "decision"];

fn observation() -> impl Strategy<Value = Observation> {
    let texts = (words(9), prop_oneof![Just(String::new()), words(12)], prose());
    (
        proptest::sample::select(KINDS),
        texts,
        proptest::collection::vec(words(9), 0..4),
        list(),
        list(),
        list(),
    )
        .prop_map(
            |(kind, (title, subtitle, narrative), mut facts, concepts, files_read, files_modified)| {
                facts.dedup();
                Observation {
                    kind: ObservationType::from(kind),
                    title,
                    subtitle,
                    narrative,
                    facts: facts
                        .into_iter()
                        .enumerate()
                        .map(|(n, fact)| format!("Fact {n} {fact}"))
                        .collect(),
                    concepts,
                    files_read,
                    files_modified,
                    discovery_tokens: 0,
                    tool_name: None,
                }
            },
        )
}

fn summary() -> impl Strategy<Value = Summary> {
    (words(9), prose(), prose(), prose(), prose(), prose()).prop_map(
        |(request, investigated, learned, completed, next_steps, notes)| Summary {
            request,
            investigated,
            learned,
            completed,
            next_steps,
            notes,
            files_read: Vec::new(),
            files_edited: Vec::new(),
        },
    )
}

fn memory() -> impl Strategy<Value = Memory> {
    (proptest::collection::vec(observation(), 0..4), proptest::option::of(summary()))
        .prop_map(|(observations, summary)| Memory { observations, summary, ..Memory::default() })
}

/// The memory in the format of the contract, with `between` between the tags.
fn rendered(memory: &Memory, between: &str) -> String {
    let escaped = |text: &str| text.replace('&', "&amp;").replace('<', "&lt;").replace('>', "&gt;");
    let element = |tag: &str, inner: &str| format!("<{tag}>{inner}</{tag}>{between}");
    let text = |tag: &str, text: &str| element(tag, &escaped(text));
    let list = |tag: &str, item: &str, items: &[String]| {
        let items: String = items.iter().map(|one| text(item, one)).collect();
        element(tag, &format!("{between}{items}"))
    };
    let mut all = String::new();
    for one in &memory.observations {
        let fields = [
            text("type", one.kind.name()),
            text("title", &one.title),
            text("subtitle", &one.subtitle),
            text("narrative", &one.narrative),
            list("facts", "fact", &one.facts),
            list("concepts", "concept", &one.concepts),
            list("files_read", "file", &one.files_read),
            list("files_modified", "file", &one.files_modified),
        ];
        all.push_str(&element("observation", &format!("{between}{}", fields.concat())));
    }
    if let Some(one) = &memory.summary {
        let fields = [
            text("request", &one.request),
            text("investigated", &one.investigated),
            text("learned", &one.learned),
            text("completed", &one.completed),
            text("next_steps", &one.next_steps),
            text("notes", &one.notes),
        ];
        all.push_str(&element("summary", &format!("{between}{}", fields.concat())));
    }
    all
}

fn expected(memory: &Memory) -> Outcome {
    if memory.observations.is_empty() && memory.summary.is_none() {
        return Outcome::Nothing;
    }
    let (observations, facts) = (memory.observations.clone(), memory.facts.clone());
    Outcome::Memory { observations, facts, summary: memory.summary.clone() }
}

/// Pieces that, combined at random, resemble an answer.
#[rustfmt::skip]
const SOUP: &[&str] = &[
    "<observation>", "</observation>", "<observation type='change'>", "<observation/>", "<summary>",
    "<statement>", "</statement>", "<key>", "</key>", "<value>", "</value>",
    "</summary>", "<observations>", "</observations>", "<skip/>", "<think>", "</think>", "<type>",
    "</type>", "bugfix", "<title>", "</title>", "<title/>", "<subtitle>", "</subtitle>", "<narrative>",
    "</narrative>", "<facts>", "</facts>", "<fact>", "</fact>", "<concepts>", "</concepts>", "<concept>",
    "</concept>", "<files_read>", "</files_read>", "<files_modified>", "</files_modified>", "<file>",
    "</file>", "<file path=\"é\"/>", "<item>", "</li>", "<request>", "</request>", "<next_steps>",
    "</next_steps>", "<notes>", "</notes>", "<![CDATA[", "]]>", "<!--", "-->", "```", "`", "```xml\n",
    "\n", " ", "é", "\0", "&lt;", "&", "&#x1F600;", "[", "]", "{", "}", "\"a\"", ":", ",",
    "{\"title\":\"a\"}", "{\"observations\":[", "- a\n", "word", "<", ">", "</", "<titel>", "</nar",
    "none",
];

proptest! {
    #![proptest_config(ProptestConfig { cases: 300, failure_persistence: None, ..ProptestConfig::default() })]

    #[test]
    fn no_text_whatsoever_makes_it_fail(text in "\\PC*|(?s).*") {
        parse(&text);
    }

    #[test]
    fn no_soup_of_tags_makes_it_fail(pieces in proptest::collection::vec(proptest::sample::select(SOUP), 0..60)) {
        let text = pieces.concat();
        let answer = parse(&text);
        if let Outcome::Memory { observations, facts, summary } = &answer.outcome {
            prop_assert!(!observations.is_empty() || !facts.is_empty() || summary.is_some());
            prop_assert!(observations.iter().all(|one| !one.title.is_empty()));
            prop_assert!(observations.iter().all(|one| one.title.split_whitespace().count() < 10));
            let kept = format!("{observations:?}{summary:?}");
            prop_assert!(!kept.contains("\\0"), "{}", kept);
        }
    }

    #[test]
    fn every_beginning_of_an_answer_is_read(memory in memory(), cut in 0.0..1.0_f64) {
        let text = rendered(&memory, "\n");
        #[expect(clippy::cast_possible_truncation, clippy::cast_sign_loss, clippy::cast_precision_loss,
            reason = "any place will do")]
        let text = &text[..text.floor_char_boundary((text.len() as f64 * cut) as usize)];
        if let Outcome::Memory { observations, .. } = parse(text).outcome {
            // Complete observations are unchanged.
            let complete = text.matches("</observation>").count();
            prop_assert_eq!(&observations[..complete], &memory.observations[..complete]);
        }
    }

    #[test]
    fn memory_rendered_by_the_contract_comes_back(memory in memory(), between in "|\n|\n  ", fenced in any::<bool>()) {
        let text = rendered(&memory, &between);
        let text = if fenced { format!("```xml\n{text}\n```") } else { text };
        prop_assert_eq!(parse(&text), ParsedAnswer { outcome: expected(&memory), problems: Vec::new() }, "{}", text);
    }

    #[test]
    fn memory_as_json_comes_back(memory in memory(), pretty in any::<bool>()) {
        let text = if pretty { serde_json::to_string_pretty(&memory) } else { serde_json::to_string(&memory) };
        prop_assert_eq!(parse(&text.unwrap()).outcome, expected(&memory));
    }
}

const PROMPTS: &[(&str, &str)] = &[
    ("code.md", include_str!("../../prompts/code.md")),
    ("observe.md", include_str!("../../prompts/observe.md")),
    ("summarize.md", include_str!("../../prompts/summarize.md")),
];

#[test]
fn prompts_use_only_placeholders_that_are_filled_in() {
    let known = ["project", "path", "stack", "date", "language", "goal", "history", "turn"];
    let mut used = Vec::new();
    for (name, prompt) in PROMPTS {
        for rest in prompt.split("{{").skip(1) {
            let (placeholder, _) = rest.split_once("}}").unwrap();
            assert!(known.contains(&placeholder), "{name}: {placeholder}");
            used.push(placeholder);
        }
        assert_eq!(prompt.matches("{{").count(), prompt.matches("}}").count(), "{name}");
    }
    assert!(known.iter().all(|known| used.contains(known)), "{used:?}");
}

#[test]
fn the_examples_of_the_prompt_are_good_answers() {
    let (_, code) = PROMPTS[0];
    let examples: Vec<&str> =
        code.split("```xml\n").skip(1).map(|rest| rest.split_once("```").unwrap().0).collect();
    assert_eq!(examples.len(), 3);
    for example in examples {
        let answer = parse(example);
        assert_eq!(answer.problems, [], "{example}");
        assert!(!matches!(answer.outcome, Outcome::Unparseable { .. }), "{example}");
    }
}

#[test]
fn the_prompt_defines_every_type_and_concept() {
    let (_, code) = PROMPTS[0];
    for word in [
        "bugfix",
        "feature",
        "refactor",
        "change",
        "discovery",
        "decision",
        "how-it-works",
        "why-it-exists",
        "what-changed",
        "problem-solution",
        "gotcha",
        "pattern",
        "trade-off",
    ] {
        assert!(code.contains(&format!("| `{word}` |")), "{word}");
    }
}

/// Kind, key and value of the statements in an answer.
fn stated(answer: &str) -> Vec<(String, String, String)> {
    let Outcome::Memory { facts, .. } = parse(answer).outcome else { return Vec::new() };
    let parts = |learned: LearnedFact| {
        assert_eq!(learned.fact.source, FactSource::Agent, "a model is no user");
        (learned.fact.kind.name().to_owned(), learned.fact.key.to_string(), learned.fact.value)
    };
    facts.into_iter().map(parts).collect()
}

#[test]
fn statements_are_read_in_any_spelling() {
    let port = |kind: &str| vec![(kind.to_owned(), "port".to_owned(), "It is 8080.".to_owned())];
    for (answer, kind) in [
        (
            "<statement><kind>convention</kind><key>Port</key><value>It is 8080.</value></statement>",
            "convention",
        ),
        ("```xml\n<statement>\n<key>port</key>\n<value>It is 8080.</value>\n</statement>\n```", "fact"),
        (
            "<fact_statement><kind>hearsay</kind><key>port</key><value>It is 8080.</value></fact_statement>",
            "fact",
        ),
        ("<statement><kind>preference</kind><key>port</key><value>It is 8080.", "preference"),
        (r#"{"statement": [{"kind": "fact", "key": "port", "value": "It is 8080."}]}"#, "fact"),
    ] {
        assert_eq!(stated(answer), port(kind), "{answer}");
    }
    for answer in [
        "<statement><key>port</key></statement>",
        "<statement/>",
        "<key>port</key><value>8080</value>",
        r#"{"key": "port", "value": "8080"}"#,
    ] {
        assert_eq!(stated(answer), [], "{answer}");
    }
    let mut many = String::new();
    for number in 0..60 {
        write!(many, "<statement><key>k{number}</key><value>v</value></statement>").unwrap();
    }
    assert_eq!(stated(&many).len(), 10);
}

#[test]
fn a_statement_stands_beside_observations_and_ends_none_of_them() {
    let answer = "<observation><type>bugfix</type><title>Ports clash</title><narrative>Two servers took 8080.</narrative>\n\
        <statement><key>port</key><value>It is 8081.</value></statement>\n<summary><request>Fix it</request></summary>";
    let Outcome::Memory { observations, facts, summary } = parse(answer).outcome else { panic!() };
    assert_eq!((observations.len(), facts.len(), summary.is_some()), (1, 1, true));
    assert_eq!(observations[0].narrative, "Two servers took 8080.");
}
