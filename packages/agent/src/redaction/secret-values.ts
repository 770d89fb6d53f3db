/**
 * Returns the secrets among named values (headers, query parameters, variables), judged by name or length. Other values are
 * ordinary words; redacting these would make every message unreadable.
 */
export function findSecretValues(entries: Iterable<readonly [string, string]>): string[] {
  return [...entries]
    .filter(
      ([name, value]) =>
        /auth|key|token|secret|cookie|passw|pwd|credential|signature|(?:^|_)pat$/i.test(name) ||
        value.length >= 16,
    )
    .flatMap(([, value]) => parseCredentials(value));
}

/** Returns the password of a URL and the secrets in its query. */
export function findUrlSecrets(url: URL): string[] {
  return [decodeURIComponent(url.password), ...findSecretValues(url.searchParams)];
}

/** Returns the value of a header, the credentials after `Bearer` or `Basic`, and the password of the latter. */
function parseCredentials(value: string): string[] {
  const [, scheme = "", credentials] = /^(Bearer|Basic|Token) +(.*)$/is.exec(value) ?? [];
  if (credentials === undefined) return [value];
  if (scheme.toLowerCase() !== "basic") return [value, credentials];
  const decoded = Buffer.from(credentials, "base64").toString("utf8");
  return [value, credentials, decoded, decoded.slice(decoded.indexOf(":") + 1)];
}
