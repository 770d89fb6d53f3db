/** The environment, as `process.env` has it. */
export type Environment = Readonly<Record<string, string | undefined>>;

/** A key or token, written down or taken from the environment. It is never part of a message. */
export interface Secret {
  readonly value: string | undefined;
  /** Of `env:NAME`. With no value beside it, the variable is not set. */
  readonly variable: string | undefined;
}

export type SecretFault = "empty" | "no variable name" | "no header value";

export function readSecret(text: string, env: Environment): Secret | SecretFault {
  if (!text.startsWith("env:")) return checked({ value: text.trim(), variable: undefined });
  const secret = readVariable(text, env);
  return secret === undefined ? "no variable name" : checked(secret);
}

/** What `env:NAME` stands for; undefined where no name follows. */
export function readVariable(text: string, env: Environment): Secret | undefined {
  const variable = text.slice("env:".length);
  return isVariableName(variable) ? secretOf(variable, env) : undefined;
}

export function secretOf(variable: string, env: Environment): Secret {
  return { value: variableValue(variable, env), variable };
}

/** A variable that is empty counts as one that is not set. */
export function variableValue(variable: string, env: Environment): string | undefined {
  const value = Object.hasOwn(env, variable) ? env[variable]?.trim() : undefined;
  return value === "" ? undefined : value;
}

function checked(secret: Secret): Secret | SecretFault {
  if (secret.value === "") return "empty";
  return secret.value === undefined || isHeaderValue(secret.value) ? secret : "no header value";
}

/** Some keys have the form of a name too, such as Groq's: long, with letters of both cases and digits. */
export function isVariableName(text: string): boolean {
  const isKey = text.length >= 24 && [/[a-z]/, /[A-Z]/, /\d/].every((kind) => kind.test(text));
  return /^[A-Za-z_]\w*$/.test(text) && !isKey;
}

export function isHeaderValue(text: string): boolean {
  return /^[\t\u0020-\u007E\u0080-\u00FF]*$/.test(text);
}

export function isHeaderName(text: string): boolean {
  return /^[\w!#$%&'*+.^`|~-]+$/.test(text);
}

/** `ZAI_API_KEY` or `$ZAI_API_KEY` where `env:ZAI_API_KEY` was meant. */
export function looksLikeVariable(text: string, env: Environment): boolean {
  const name = /^\$?\{?(\w+)\}?$/.exec(text.trim())?.[1];
  if (name === undefined) return false;
  return (
    text.startsWith("$") ||
    /^[A-Z][A-Z\d]*(?:_[A-Z\d]+)*_(?:KEY|TOKEN)$/.test(name) ||
    Object.hasOwn(env, name)
  );
}
