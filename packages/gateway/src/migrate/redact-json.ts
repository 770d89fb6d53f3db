import { isSecretName, isSecretValue, maskSecrets } from "./detect-secrets.ts";
import { parseJsonDocument, type JsonNode } from "./json-document.ts";

/** Replaces the secrets in a valid JSON document with "…". Line numbers do not change. */
export function redactJson(text: string): string {
  const spans: { start: number; end: number }[] = [];
  collectSecrets(parseJsonDocument(text, ""), "", spans);
  let [result, position] = ["", 0];
  for (const { start, end } of spans) {
    result += `${text.slice(position, start)}"…"`;
    position = end;
  }
  return maskSecrets(redactComments(result + text.slice(position)));
}

function collectSecrets(
  node: JsonNode,
  name: string,
  spans: { start: number; end: number }[],
): void {
  for (const entry of node.entries ?? []) collectSecrets(entry.node, entry.name, spans);
  for (const item of node.items ?? []) collectSecrets(item, name, spans);
  const { value, start, end } = node;
  if (typeof value === "string" && isSecret(name, value)) spans.push({ start, end });
}

/** A setting that is commented out may still contain a key. */
function redactComments(text: string): string {
  return text.replaceAll(
    /("([\w-]+)"\s*:\s*)"([^"\n]*)"/g,
    (match: string, before: string, name: string, value: string) =>
      isSecret(name, value) ? `${before}"…"` : match,
  );
}

function isSecret(name: string, value: string): boolean {
  if (["", "…", "local"].includes(value) || /^(?:\{env:\w+\}|\$\w+)$/.test(value)) return false;
  // CLAUDE_CODE_… is no code, and …_TOKENS is a number.
  const words = name.replace(/^CLAUDE_CODE_/, "").replace(/tokens$/i, "");
  return isSecretName(words) || isSecretValue(value);
}
