import { parseTomlString, scanTomlPositions, type KeyPath } from "../config/toml-positions.ts";
import { isSecretName, isSecretValue, isSafeVariableName, maskSecrets } from "./detect-secrets.ts";

/** Replaces the secrets in a TOML document with "…". Line numbers do not change. */
export function redactToml(text: string): string {
  const { entries, comments } = scanTomlPositions(text);
  const strings = entries.flatMap(({ path, value: { start, end } }) => {
    const source = text.slice(start, end);
    if (!/^["']/.test(source) || !isSecretEntry(path, parseTomlString(source))) return [];
    const lines = source.split("\n").map((_, index) => (index === 0 ? '"…"' : "…"));
    return [{ start, end, redacted: lines.join("\n") }];
  });
  const redactedComments = comments.map(({ start, end }) => ({
    start,
    end,
    redacted: redactComment(text.slice(start, end)),
  }));
  let [result, position] = ["", 0];
  for (const replacement of [...strings, ...redactedComments].toSorted(
    (a, b) => a.start - b.start,
  )) {
    result += text.slice(position, replacement.start) + replacement.redacted;
    position = replacement.end;
  }
  return maskSecrets(result + text.slice(position));
}

function isSecretEntry(path: KeyPath, value: string): boolean {
  const name = String(path.at(-1) ?? "");
  if (value === "" || value === "local" || value.startsWith("env:")) return false;
  if (name === "env_key" || /_env(?:_vars?)?$/.test(name) || path.at(-2) === "env_http_headers")
    return !isSafeVariableName(value);
  return name !== "env_key_instructions" && (isSecretName(name) || isSecretValue(value));
}

/** A setting that is commented out may still contain a key. */
function redactComment(comment: string): string {
  return comment.replaceAll(
    /(["']?)([\w-]+)\1\s*=\s*(["'])(.*?)\3/g,
    (match: string, _keyQuote, name: string, _valueQuote, value: string) =>
      isSecretEntry([name], value) ? match.replace(value, "…") : match,
  );
}
