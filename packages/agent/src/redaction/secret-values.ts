/**
 * The values among named ones (headers, queries, variables) that are secrets: by their name, or by their length. The
 * rest are ordinary words, and removing these would make every message unreadable.
 */
export function secretsIn(named: Iterable<readonly [string, string]>): string[] {
  return [...named]
    .filter(
      ([name, value]) =>
        /auth|key|token|secret|cookie|passw|pwd|credential|signature|(?:^|_)pat$/i.test(name) ||
        value.length >= 16,
    )
    .flatMap(([, value]) => credentialsIn(value));
}

/** The password and the query of an address. */
export function secretsOfUrl(url: URL): string[] {
  return [decodeURIComponent(url.password), ...secretsIn(url.searchParams)];
}

/** The value of a header, what follows `Bearer` or `Basic` in it, and the password in the latter. */
function credentialsIn(value: string): string[] {
  const [, scheme = "", credentials] = /^(Bearer|Basic|Token) +(.*)$/is.exec(value) ?? [];
  if (credentials === undefined) return [value];
  if (scheme.toLowerCase() !== "basic") return [value, credentials];
  const decoded = Buffer.from(credentials, "base64").toString("utf8");
  return [value, credentials, decoded, decoded.slice(decoded.indexOf(":") + 1)];
}
