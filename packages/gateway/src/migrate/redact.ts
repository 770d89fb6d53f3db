import { stringOf, tomlPositions, type KeyPath } from "../config/toml-positions.ts";
import { isSecretName, isSecretValue, isVariable, withoutSecretForms } from "./secret-words.ts";

/** A TOML document to be shown: "…" stands for every secret, and each line is where it was. */
export function redactedToml(text: string): string {
  const { entries, comments } = tomlPositions(text);
  const strings = entries.flatMap(({ path, value: { start, end } }) => {
    const written = text.slice(start, end);
    if (!/^["']/.test(written) || !isHidden(path, stringOf(written))) return [];
    const lines = written.split("\n").map((_, index) => (index === 0 ? '"…"' : "…"));
    return [{ start, end, shown: lines.join("\n") }];
  });
  const remarks = comments.map(({ start, end }) => ({
    start,
    end,
    shown: redactedComment(text.slice(start, end)),
  }));
  let [shown, at] = ["", 0];
  for (const piece of [...strings, ...remarks].toSorted((a, b) => a.start - b.start)) {
    shown += text.slice(at, piece.start) + piece.shown;
    at = piece.end;
  }
  return withoutSecretForms(shown + text.slice(at));
}

function isHidden(path: KeyPath, value: string): boolean {
  const name = String(path.at(-1) ?? "");
  if (value === "" || value === "local" || value.startsWith("env:")) return false;
  if (name === "env_key" || /_env(?:_vars?)?$/.test(name) || path.at(-2) === "env_http_headers")
    return !isVariable(value);
  return name !== "env_key_instructions" && (isSecretName(name) || isSecretValue(value));
}

/** A setting that was put out of use may still hold its key. */
function redactedComment(comment: string): string {
  return comment.replaceAll(
    /(["']?)([\w-]+)\1\s*=\s*(["'])(.*?)\3/g,
    (all: string, _quote, name: string, _fence, value: string) =>
      isHidden([name], value) ? all.replace(value, "…") : all,
  );
}
