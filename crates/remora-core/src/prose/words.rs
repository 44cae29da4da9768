//! Phrases that reveal the purpose of a sentence, in English, German, French and Spanish, and for causes in Chinese.
//! They match whole words; `*` stands for any ending, and `,` and `:` are separate words.

#[rustfmt::skip]
pub(super) const OFFER: &[&str] = &[
    "let me know", "feel free", "would you like", "do you want", "want me to", "shall i", "should i", "happy to",
    "if you'd like", "if you want , i", "say the word", "which do you prefer", "sag bescheid", "sag mir",
    "sagt bescheid", "soll ich", "möchtest du", "n'hésite*", "dites-moi", "dis-moi", "veux-tu", "voulez-vous",
    "souhaitez-vous", "quieres que", "¿quieres", "avísame", "dime si",
];

#[rustfmt::skip]
pub(super) const POLITE_PHRASES: &[&str] = &[
    "done", "great", "good", "sure", "perfect", "all set", "absolutely", "you're right", "right", "yes",
    "no problem", "okay", "ok", "got it", "thanks", "thank you", "sorry", "found it", "here's", "here is",
    "here are", "here you go", "makes sense", "understood", "exactly", "of course", "fertig", "erledigt", "gern",
    "alles klar", "klar", "danke", "voilà", "c'est fait", "parfait", "bien sûr", "merci", "d'accord", "listo",
    "hecho", "perfecto", "claro", "gracias", "de acuerdo",
];

/// Phrases that announce something hypothetical.
#[rustfmt::skip]
pub(super) const IMAGINED: &[&str] = &[
    "it would :", "this would :", "that would :", "we could :", "you could :", "das würde :", "es würde :", "cela pourrait :",
    "eso podría :",
];

/// Beginnings of sentences that only introduce a list.
pub(super) const LIST_INTROS: &[&str] =
    &["here's", "here is", "here are", "hier ist", "hier sind", "voici", "aquí está", "estos son"];

/// Phrases for an agent's next step. The findings come later.
#[rustfmt::skip]
pub(super) const INTENT: &[&str] = &[
    "let me", "let's", "now let me", "now let's", "now i'll", "now i", "now update", "now insert", "now create",
    "now add", "now fix", "now run", "i'll", "i will", "i'm going to", "i need to", "we need to", "now we need to", "now i need to", "i should", "first , let me",
    "first let me", "next , i'll", "next i'll", "good , now", "also update", "lass mich", "ich werde",
    "jetzt werde ich", "als erstes", "je vais", "laisse-moi", "laissez-moi", "maintenant je", "voy a", "déjame",
    "ahora voy",
];

#[rustfmt::skip]
pub(super) const DECISION_START: &[&str] = &[
    "decision", "recommendation", "verdict", "entscheidung", "empfehlung", "décision", "recommandation",
    "decisión", "recomendación",
];

#[rustfmt::skip]
pub(super) const DECISION: &[&str] = &[
    "decided", "decision :", "i chose", "we chose", "was chosen", "is chosen", "i'd go with", "go with",
    "going with", "i recommend", "i'd recommend", "rejected", "rather than", "instead of", "opted for",
    "opted to", "in favor of", "in favour of", "settled on", "agreed on", "by design", "deliberately",
    "deliberate", "on purpose", "intentionally", "is the right tool", "out of scope", "deferred to",
    "entschieden", "verworfen", "bewusst", "absichtlich", "anstatt", "statt", "zugunsten", "décidé", "choisi",
    "plutôt que", "au lieu de", "volontairement", "rejeté*", "decidido", "decidimos", "elegimos", "elegido",
    "en lugar de", "en vez de", "a propósito", "rechazado", "rechazada",
];

#[rustfmt::skip]
pub(super) const NEXT_START: &[&str] = &[
    "next up", "next run", "next time", "next steps", "next step", "next :", "next ,", "remaining", "still to do", "still open",
    "still pending", "follow-up", "to do :", "to-do", "pending", "needs", "ready to commit", "ready for",
    "waiting for", "try", "now try", "you can now", "you can verify", "als nächstes", "nächste schritte", "nächster schritt", "offen :", "offen ist",
    "ensuite", "reste à", "à faire", "prochaine étape", "prochaines étapes", "próximo paso", "próximos pasos",
    "pendiente", "falta", "queda por",
];

#[rustfmt::skip]
pub(super) const NEXT: &[&str] = &[
    "next step is", "still needs", "still need", "still open", "remains to",
    "left to do", "will need to", "needs to be", "need to be", "you'll need to", "you need to", "should be tried",
    "worth trying", "i would try", "i'd try", "not yet", "not committed", "not pushed", "not merged",
    "is blocked", "are blocked", "until you", "before planning", "ready to commit", "follow-up pr", "noch zu",
    "noch nicht", "steht noch aus", "fehlt noch", "muss noch", "müssen noch", "il reste", "pas encore",
    "il faudra", "reste à faire", "todavía no", "aún no", "queda por", "falta por", "habrá que", "hay que",
];

#[rustfmt::skip]
pub(super) const CAUSE: &[&str] = &[
    "because", "root cause", "the cause", "caused by", "causes", "caused", "causing", "came from", "comes from",
    "the reason", "due to", "turned out", "turns out", "which meant", "which means", "this means", "that means",
    "that is why", "that's why", "this is why", "is why", "was why", ", so", "the problem is", "the problem was",
    "the bug is", "the bug was", "the issue is", "the issue was", "the culprit", "leads to", "led to",
    "results in", "resulted in", "which breaks", "which broke", "as a result", "triggered by", "stems from",
    "weil", "denn", "ursache", "lag daran", "liegt daran", "der grund", "deshalb", "daher", "wegen", "aufgrund",
    "das problem ist", "das problem war", "führt dazu", "führte dazu", "parce que", "puisque", "à cause",
    "la cause", "en raison", "venait de", "vient de", "venait du", "vient du", "provenait", "provient",
    "c'est pourquoi", "le problème est", "le problème était", "du fait", "porque", "debido a", "la causa",
    "por eso", "ya que", "se debe a", "se debía a", "a causa de", "el problema es", "el problema era", "proviene",
    "provenía", "因为", "由于", "原因", "导致",
];

#[rustfmt::skip]
pub(super) const CAVEAT_START: &[&str] = &[
    "note", "caveat", "beware", "careful", "be aware", "one thing", "one caveat", "keep in mind", "heads-up", "heads up",
    "warning", "limitation", "downside", "gotcha", "important", "hinweis", "achtung", "vorsicht", "wichtig",
    "attention", "remarque", "ojo", "atención", "cuidado", "nota", "注意",
];

#[rustfmt::skip]
pub(super) const CAVEAT: &[&str] = &[
    "must not", "mustn't", "must be", "must have", "must lie", "must stay", "must come", "never", "gotcha",
    "only when", "only if", "only works", "only work", "silently", "keep in mind", "watch out", "be aware",
    "without it", "no longer", "does not work", "doesn't work", "won't work", "does not exist", "doesn't exist",
    "need to", "needs to", "not supported", "doesn't support", "does not support", "is deprecated", "can't be", "cannot be", "cannot",
    "can't", "unless", "otherwise", "requires", "is required", "are required", "even though", "even with",
    "has no effect", "forbids", "nur wenn", "niemals", "nie", "darf nicht", "dürfen nicht", "muss", "müssen",
    "stillschweigend", "sonst", "erfordert", "jamais", "seulement si", "ne doit pas", "ne doivent pas", "il faut",
    "doit", "doivent", "sinon", "nécessite", "sauf si", "nunca", "solo si", "sólo si", "no debe", "no deben",
    "debe", "deben", "a menos que", "requiere", "de lo contrario", "必须", "不能", "否则",
];

/// Headings, and sentences with a colon, that announce open items.
#[rustfmt::skip]
pub(super) const NEXT_HEADING: &[&str] = &[
    "next", "remaining", "follow-up", "follow-ups", "followup", "to do", "to-do", "to-dos", "pending",
    "outstanding", "open questions", "open items", "open ends", "not done", "still open", "left", "what's left",
    "nächste", "nächster", "offen", "offene", "prochaine", "prochaines", "suite", "à faire", "restant",
    "restantes", "próximo", "próximos", "pendiente", "pendientes", "siguiente", "siguientes",
];

#[rustfmt::skip]
pub(super) const CAUSE_HEADING: &[&str] = &[
    "cause", "causes", "why", "problem", "problems", "reason", "reasons", "diagnosis", "went wrong", "issue",
    "errors", "error", "findings", "finding", "explanation", "ursache", "ursachen", "warum", "grund", "gründe",
    "fehler", "pourquoi", "raison", "raisons", "problème", "erreurs", "causa", "causas", "motivo", "problema",
    "por qué", "errores",
];

#[rustfmt::skip]
pub(super) const CAVEAT_HEADING: &[&str] = &[
    "note", "notes", "caveat", "caveats", "gotcha", "gotchas", "watch out", "limitation", "limitations",
    "warning", "warnings", "risks", "known issues", "downside", "downsides", "trap", "traps", "hinweis",
    "hinweise", "achtung", "einschränkungen", "remarque", "remarques", "limites", "attention", "nota", "notas",
    "limitaciones", "advertencia", "riesgos",
];

#[rustfmt::skip]
pub(super) const DECISION_HEADING: &[&str] = &[
    "decision", "decisions", "decided", "verdict", "recommendation", "recommendations", "conclusion", "trade-off",
    "trade-offs", "tradeoffs", "rationale", "entscheidung", "entscheidungen", "fazit", "décision", "décisions",
    "décidé", "decisión", "decisiones", "conclusión",
];

/// Words about the progress of work. A sentence of only these, numbers and [`FILLER`] has no subject.
#[rustfmt::skip]
pub(super) const STATUS: &[&str] = &[
    "test", "tests", "testing", "tested", "pass", "passes", "passed", "passing", "lint", "linting", "clippy",
    "clean", "cleaned", "cleanup", "build", "builds", "built", "compile", "compiles", "compiled", "compilation",
    "successfully", "successful", "success", "succeeds", "succeeded", "complete", "completed", "completes",
    "done", "finished", "finish", "fixed", "fix", "fixes", "pushed", "push", "committed", "commit", "commits",
    "merged", "applied", "verified", "verify", "ready", "green", "works", "working", "work", "change", "changes",
    "changed", "made", "update", "updates", "updated", "implemented", "implementation", "everything", "error",
    "errors", "warning", "warnings", "issue", "issues", "failure", "failures", "fail", "fails", "failed",
    "status", "result", "results", "summary", "suite", "check", "checks", "checked", "type", "types", "typecheck",
    "format", "formatted", "ci", "pr", "task", "tasks", "todo", "todos", "item", "items", "step", "steps",
    "final", "following", "key", "main", "overview", "look", "looks", "correct", "correctly", "expected",
    "properly", "confirmed", "resolved", "good", "great", "perfect", "created", "added", "removed", "file",
    "files", "code", "part", "parts", "thing", "things", "fully", "pre-existing", "existing", "new", "introduced",
    "unrelated", "remaining", "details", "breakdown", "bestanden", "erledigt", "fertig", "abgeschlossen",
    "sauber", "grün", "läuft", "laufen", "änderungen", "änderung", "geändert", "behoben", "erfolgreich",
    "zusammenfassung", "fehler", "passent", "passe", "réussi", "réussis", "terminé", "terminée", "terminés",
    "corrigé", "corrigés", "modifications", "résumé", "propre", "prêt", "prête", "pasan", "pasa", "terminado",
    "listo", "lista", "cambios", "cambio", "corregido", "limpio", "resumen", "pruebas", "éxito",
];

/// Words that are no subject.
#[rustfmt::skip]
pub(super) const FILLER: &[&str] = &[
    "a", "an", "the", "all", "both", "each", "every", "any", "no", "not", "and", "or", "but", "with", "without",
    "of", "in", "on", "at", "to", "for", "from", "by", "as", "is", "are", "was", "were", "be", "been", "has",
    "have", "had", "it", "its", "it's", "this", "that", "these", "those", "they", "them", "there", "there's",
    "here", "here's", "i", "i've", "we", "we've", "you", "your", "our", "my", "what", "what's", "how", "which",
    "now", "already", "just", "still", "so", "also", "again", "then", "up", "back", "out", "one", "two", "three",
    "four", "five", "should", "will", "can", "do", "does", "did", "go", "going", "next", "first", "last", "same",
    "other", "some", "more", "below", "above", "likely", "yeah", "yes", "nope", "probably", "maybe", "right", "most", "well", "really", "okay", "ok", "sure", "where", "when", "why", "after", "before", "exactly", "only", "of", "our", "exist",
    "exists", "found", "find", "me", "alle", "alles", "die", "der", "das", "und", "ist", "sind", "jetzt", "nun",
    "wurde", "wurden", "hier", "ich", "habe", "es", "keine", "tous", "toutes", "tout", "les", "le", "la", "sont",
    "est", "et", "maintenant", "voici", "j'ai", "c'est", "ce", "aucune", "todos", "todas", "todo", "los", "las",
    "el", "están", "está", "son", "y", "ahora", "he", "sin", "aquí", "lo",
];
