import type { ConfigProblems } from "./config-problems.ts";
import type { Secret } from "./secret.ts";
import type { KeyPath } from "./toml-positions.ts";

/** Returns the URL if it is valid. Otherwise reports an error, without the URL: it may contain a password. */
export function resolveSecretUrl(
  url: Secret | undefined,
  location: KeyPath,
  { isValid, expected }: { isValid: (text: string) => boolean; expected: string },
  problems: ConfigProblems,
): string | undefined {
  if (url === undefined) return undefined;
  if (url.value === undefined)
    problems.error(location, `the environment variable ${url.variable} is not set`);
  else if (isValid(url.value)) return url.value;
  else
    problems.error(
      location,
      `must be the URL of ${expected}, with %2F for /, %40 for @ and %23 for # in the password`,
    );
  return undefined;
}

/** True if every % in the user and password of a URL is the start of an escape. */
export function hasValidEscapes({ username, password }: URL): boolean {
  return !/%(?![\da-f]{2})/i.test(username + password);
}
