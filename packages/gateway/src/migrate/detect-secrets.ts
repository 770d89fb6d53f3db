import { isVariableName } from "../config/secret.ts";

/** True if a header, a parameter or a setting with this name is usually secret. */
export function isSecretName(name: string): boolean {
  return secretNamePattern.test(name);
}

/** True if a value looks like a secret, or contains one: `sk-…`, `Bearer …`, or 20 or more random characters. */
export function isSecretValue(value: string): boolean {
  return maskSecrets(value) !== value;
}

/** True for the name of an environment variable that does not look like a key. */
export function isSafeVariableName(text: string): boolean {
  return isVariableName(text) && !isSecretValue(text);
}

/** Replaces everything that looks like a secret with "…". */
export function maskSecrets(text: string): string {
  return secretPatterns.reduce((masked, pattern) => masked.replaceAll(pattern, "…"), text);
}

const secretNamePattern =
  /(?:^|[^a-z])(?:auth|authorization|bearer|code|cookie|credentials?|key|pass|passwd|pwd|sig|signature)(?:$|[^a-z])|api[-_]?key|token|secret|password/i;

const secretPatterns: readonly RegExp[] = [
  /(?<=\b(?:bearer|basic)\s+)(?=\S*\d)[\w+/=.~-]{6,}/gi,
  /\b(?:sk|pk|rk|tp|ak|fw|gsk|nvapi|xai)[-_](?=\S*\d)[\w-]{6,}/g,
  /\b(?:gh[a-z]|github_pat|hf)_[A-Za-z0-9_]{16,}/g,
  /\bxox[a-z]-[\w-]{8,}/g,
  /\beyJ[\w-]{8,}\.[\w-]+(?:\.[\w-]*)?/g,
  // User name and password in a URL.
  /(?<=:\/\/)[^/\s"'@]+(?=@)/g,
  // Names of models and hosts do not contain alphanumeric runs of this length.
  /(?<![A-Za-z0-9])(?=[A-Za-z]*\d)(?=\d*[A-Za-z])[A-Za-z0-9]{20,}(?:\.[\w-]+)?/g,
];
