use remora_core::ids::ObservationId;

use super::*;

const NONE: [i64; 0] = [];

fn turn(prompt: &str) -> Turn {
    Turn { prompt: prompt.to_owned(), is_prompted: true, number: 2, ..Turn::default() }
}

fn said(prompt: &str) -> Vec<(FactKind, String)> {
    words(&turn(prompt)).facts.into_iter().map(|learned| (learned.fact.kind, learned.fact.value)).collect()
}

fn kinds(prompt: &str) -> Vec<FactKind> {
    said(prompt).into_iter().map(|(kind, _)| kind).collect()
}

/// The observations that a prompt refutes, given the claims of earlier turns.
fn refutes(prompt: &str, claims: &[(i64, &[&str])]) -> Vec<i64> {
    let earlier = (1..).zip(claims).map(|(id, (turns_back, sentences))| Claim {
        observation: ObservationId(id),
        turns_back: *turns_back,
        sentences: sentences.iter().map(|text| (*text).to_owned()).collect(),
    });
    let turn = Turn { earlier: earlier.collect(), ..turn(prompt) };
    words(&turn).refutes.into_iter().map(|id| id.0).collect()
}

#[test]
fn a_rule_has_a_standing_form() {
    for rule in [
        "Always run the linter before you commit.",
        "never push to the main branch",
        "please never edit the generated files",
        "You should always write the tests first in Kotlin",
        "From now on write commit messages in the imperative.",
        "Ask me before you delete a migration.",
        "Don't touch the billing service without asking.",
        "Use pnpm instead of npm",
        "use `ruff` rather than `flake8`",
        "I prefer early returns over nested blocks",
        "Format the code every time you touch a file",
        "Can you always add a changelog entry?",
    ] {
        assert_eq!(said(rule), [(FactKind::Preference, rule.to_owned())], "{rule}");
    }
    for rule in [
        "We use go-git in other places to be independent of a checkout.",
        "In this project errors must be typed.",
        "we never squash commits of the release branch",
        "Remember that the staging database is read-only.",
    ] {
        assert_eq!(said(rule), [(FactKind::Convention, rule.to_owned())], "{rule}");
    }
}

#[test]
fn instructions_for_the_task_and_reports_are_not_rules() {
    for other in [
        "don't commit yet",
        "always show me this diff",
        "never mind",
        "the test always fails on CI",
        "it never worked on Windows",
        "I've never seen that before",
        "every time you load it, it does not remember the bounds",
        "can we use a map here?",
        "should we use Redis?",
        "if we use Redis we need a broker",
        "we used the skill yesterday",
        "use a map instead of the list",
        "I prefer the second option",
        "you deleted it without asking",
        "for now always return an empty list",
        "what does \"always use tabs\" mean",
        "Explain `never type`",
        "add a button and remove the sentence at the top",
    ] {
        assert_eq!(said(other), [], "{other}");
    }
}

#[test]
fn other_languages_have_the_same_forms() {
    for rule in [
        "Utilise toujours pnpm pour les scripts.",
        "N'utilise jamais npm dans les scripts.",
        "Désormais les messages de commit sont en anglais.",
        "Usa siempre pnpm en los scripts.",
        "A partir de ahora los commits van en inglés.",
        "Nunca uses npm en los scripts.",
        "Verwende immer pnpm für Skripte.",
        "Ab jetzt sind Commits auf Englisch.",
    ] {
        assert_eq!(kinds(rule), [FactKind::Preference], "{rule}");
    }
    for rule in
        ["On utilise des tabulations.", "En este proyecto usamos tabuladores.", "Wir verwenden Tabs in Rust."]
    {
        assert_eq!(kinds(rule), [FactKind::Convention], "{rule}");
    }
    for report in
        ["Le serveur plante toujours au démarrage", "El servidor siempre falla", "Der Server stürzt immer ab"]
    {
        assert_eq!(kinds(report), [], "{report}");
    }
    for correction in [
        "Non, les identifiants sont des UUID.",
        "No, los identificadores son UUID normales.",
        "Nein, die Kennungen sind einfache UUIDs.",
    ] {
        assert_eq!(kinds(correction), [FactKind::Correction], "{correction}");
    }
}

#[test]
fn a_correction_says_what_it_is_about() {
    assert_eq!(
        said("no, the session ids are plain UUIDs"),
        [(FactKind::Correction, "no, the session ids are plain UUIDs".to_owned())]
    );
    assert_eq!(
        said("That was never the problem. The global gitignore was not read."),
        [(FactKind::Correction, "That was never the problem. The global gitignore was not read.".to_owned())]
    );
    for other in [
        "that was never the problem",
        "no",
        "no, don't do that yet",
        "no don't set it, let's see if it happens",
        "wrong file?",
    ] {
        assert_eq!(said(other), [], "{other}");
    }
    let first = Turn { number: 1, ..turn("no, the session ids are plain UUIDs") };
    assert_eq!(words(&first).facts, [], "there was nothing to correct");
}

#[test]
fn a_correction_refutes_the_claim_it_is_about() {
    let diagnosis: &[&str] =
        &["Session ids need a date in front.", "The harness writes ids as `YYYY-MM-DD-uuid` now."];
    let other: &[&str] = &["The logo is blue now."];
    assert_eq!(refutes("no, the session ids are plain UUIDs", &[(1, diagnosis)]), [1]);
    assert_eq!(refutes("hmm, I just checked and none of the session ids has a date", &[(1, diagnosis)]), [1]);
    assert_eq!(
        refutes("No, the session ids have no date.", &[(2, diagnosis), (1, other)]),
        [1],
        "it names its subject"
    );
    assert_eq!(refutes("That was never the problem.", &[(1, diagnosis)]), [1]);
    assert_eq!(refutes("That was never the problem.", &[(2, diagnosis)]), NONE, "not from the last turn");
    assert_eq!(
        refutes("That was never the problem.", &[(1, diagnosis), (1, other)]),
        NONE,
        "which of the two?"
    );
    assert_eq!(refutes("Das war nie das Problem.", &[(1, diagnosis)]), [1]);
    let denied: &[&str] = &["The stop hook doesn't touch the index of the worktree."];
    let agreement = "but that does not mean the stop hook is the cause";
    assert_eq!(refutes(agreement, &[(1, denied)]), NONE, "both deny the same");
    for harmless in [
        "no, don't do that yet",
        "no don't set the session date, let's see if it keeps happening",
        "no, leave the ids as they are",
        "are you sure the session ids have a date?",
        "but the session ids should have a date",
        "hmm, can we not write a date into session ids?",
        "no, the menu is not translated into Irish",
        "I meant the session ids of yesterday, with a date",
        "> that's wrong\n\nplease answer the reviewer",
        "that's right, thanks",
    ] {
        assert_eq!(refutes(harmless, &[(1, diagnosis)]), NONE, "{harmless}");
    }
    let late = Turn { is_prompted: false, ..turn("no, the session ids are plain UUIDs") };
    assert_eq!(words(&late), Words::default(), "the prompt was read with its own batch");
}

#[test]
fn an_answer_is_kept_with_its_question() {
    let question = |question: &str, answer: &str| Question {
        question: question.to_owned(),
        options: vec!["SQLite".to_owned(), "Redis".to_owned(), "Yes, remove it".to_owned()],
        answer: answer.to_owned(),
    };
    let questions = vec![
        question("Where should retries be stored?", "SQLite"),
        question("Can I remove the stale clone?", "Yes, remove it"),
        question("Which registry?", "always use the internal registry for images"),
        question("Nothing was said to that?", ""),
    ];
    let facts = words(&Turn { questions, ..Turn::default() }).facts;
    let said: Vec<_> =
        facts.iter().map(|learned| (learned.fact.kind, &*learned.fact.value, learned.fact.trust)).collect();
    assert_eq!(
        said,
        [
            (FactKind::Fact, "Asked “Where should retries be stored?”, the user chose “SQLite”.", CHOSEN),
            (
                FactKind::Fact,
                "Asked “Can I remove the stale clone?”, the user chose “Yes, remove it”.",
                ALLOWED
            ),
            (
                FactKind::Fact,
                "Asked “Which registry?”, the user answered “always use the internal registry for images”.",
                CHOSEN
            ),
            (FactKind::Preference, "always use the internal registry for images", RULE),
        ]
    );
    assert!(facts.iter().all(|learned| learned.fact.source == FactSource::User));
}

#[test]
fn a_later_statement_about_the_same_subject_has_the_same_key() {
    let key = |text: &str| words(&turn(text)).facts.remove(0).fact.key.to_string();
    assert_eq!(
        key("Always run the linter before a commit."),
        key("From now on never run the linter before commits")
    );
    assert_eq!(key("Always run the linter before a commit."), "commit linter");
    assert_ne!(key("We use npm"), key("We use pnpm"), "synonyms are not recognised");
    let long = format!("Always use {}", "a very long name and ".repeat(20));
    assert_eq!(said(&long), [], "half a rule may say the opposite");
    let hostile = [
        "",
        "'",
        "`",
        "“always",
        "always",
        "never never never",
        "no no no",
        "n'",
        "use",
        "use `",
        "\u{301}?",
    ];
    for text in hostile {
        let _ = said(text);
    }
}

#[test]
fn a_user_who_names_the_way_sets_the_agent_right() {
    for correction in [
        "ok, but all verification can be done automatically with the --dev-key flag",
        "mais on peut tout lancer avec `just check`",
        "pero se puede probar con ./run.sh en local",
    ] {
        assert_eq!(kinds(correction), [FactKind::Correction], "{correction}");
    }
    for other in [
        "ok, but can you use the --dev-key flag?",
        "but the test in `a.rs` still fails",
        "all of it can be done with `just check`",
        "but you can stop now",
    ] {
        assert_eq!(kinds(other), [], "{other}");
    }
}
