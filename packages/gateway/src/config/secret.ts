/** Environment variables, as in `process.env`. */
export type EnvironmentVariables = Readonly<Record<string, string | undefined>>;

/** A key or token, either literal or from an environment variable. Its value must not appear in messages. */
export interface Secret {
  readonly value: string | undefined;
  /** The NAME of `env:NAME`. If `value` is undefined, the variable is not set. */
  readonly variable: string | undefined;
}

export type SecretError = "empty" | "invalid variable name" | "invalid header value";

/** Parses `env:NAME` or a literal value. */
export function parseSecret(text: string, env: EnvironmentVariables): Secret | SecretError {
  if (!text.startsWith("env:")) return validateSecret({ value: text.trim(), variable: undefined });
  const secret = parseEnvReference(text, env);
  return secret === undefined ? "invalid variable name" : validateSecret(secret);
}

/** Resolves `env:NAME`. Returns undefined if the name is not valid. */
export function parseEnvReference(text: string, env: EnvironmentVariables): Secret | undefined {
  const variable = text.slice("env:".length);
  return isVariableName(variable) ? resolveSecret(variable, env) : undefined;
}

export function resolveSecret(variable: string, env: EnvironmentVariables): Secret {
  return { value: getVariable(variable, env), variable };
}

/** Returns the trimmed value; an empty variable counts as not set. */
export function getVariable(variable: string, env: EnvironmentVariables): string | undefined {
  const value = Object.hasOwn(env, variable) ? env[variable]?.trim() : undefined;
  return value === "" ? undefined : value;
}

function validateSecret(secret: Secret): Secret | SecretError {
  if (secret.value === "") return "empty";
  return secret.value === undefined || isHeaderValue(secret.value)
    ? secret
    : "invalid header value";
}

/**
 * True for a valid name of an environment variable. False for API keys that are also valid names, such as Groq's: they are
 * long and contain digits, lower-case and upper-case letters.
 */
export function isVariableName(text: string): boolean {
  const looksLikeKey =
    text.length >= 24 && [/[a-z]/, /[A-Z]/, /\d/].every((pattern) => pattern.test(text));
  return /^[A-Za-z_]\w*$/.test(text) && !looksLikeKey;
}

export function isHeaderValue(text: string): boolean {
  return /^[\t\u0020-\u007E\u0080-\u00FF]*$/.test(text);
}

export function isHeaderName(text: string): boolean {
  return /^[\w!#$%&'*+.^`|~-]+$/.test(text);
}

/** True for `ZAI_API_KEY` and `$ZAI_API_KEY`, which were probably meant as `env:ZAI_API_KEY`. */
export function looksLikeVariable(text: string, env: EnvironmentVariables): boolean {
  const name = /^\$?\{?(\w+)\}?$/.exec(text.trim())?.[1];
  if (name === undefined) return false;
  return (
    text.startsWith("$") ||
    /^[A-Z][A-Z\d]*(?:_[A-Z\d]+)*_(?:KEY|TOKEN)$/.test(name) ||
    Object.hasOwn(env, name)
  );
}
