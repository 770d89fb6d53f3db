import { isVariableName } from "../config/secret.ts";

/** Whether a header, a parameter or a setting of this name holds something that nobody else may see. */
export function isSecretName(name: string): boolean {
  return secretName.test(name);
}

/** Whether a value is one by its looks: `sk-…`, `Bearer …`, twenty random characters in a row. */
export function isSecretValue(value: string): boolean {
  return withoutSecretForms(value) !== value;
}

/** The name of an environment variable, and not a key that was put in its place. */
export function isVariable(text: string): boolean {
  return isVariableName(text) && !isSecretValue(text);
}

/** The text with "…" for all that looks like a secret. */
export function withoutSecretForms(text: string): string {
  return secretForms.reduce((rest, form) => rest.replaceAll(form, "…"), text);
}

const secretName =
  /(?:^|[^a-z])(?:auth|authorization|bearer|code|cookie|credentials?|key|pass|passwd|pwd|sig|signature)(?:$|[^a-z])|api[-_]?key|token|secret|password/i;

const secretForms: readonly RegExp[] = [
  /(?<=\b(?:bearer|basic)\s+)(?=\S*\d)[\w+/=.~-]{6,}/gi,
  /\b(?:sk|pk|rk|tp|ak|fw|gsk|nvapi|xai)[-_](?=\S*\d)[\w-]{6,}/g,
  /\b(?:gh[a-z]|github_pat|hf)_[A-Za-z0-9_]{16,}/g,
  /\bxox[a-z]-[\w-]{8,}/g,
  /\beyJ[\w-]{8,}\.[\w-]+(?:\.[\w-]*)?/g,
  // A user and a password in an address.
  /(?<=:\/\/)[^/\s"'@]+(?=@)/g,
  // Names of models and hosts have no words that long.
  /(?<![A-Za-z0-9])(?=[A-Za-z]*\d)(?=\d*[A-Za-z])[A-Za-z0-9]{20,}(?:\.[\w-]+)?/g,
];
