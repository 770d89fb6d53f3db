import { StoreError, type DatabaseErrorCode } from "../error.ts";

/** Converts an error of PostgreSQL or the network to one whose message says what to do. `location`: the URL without password. */
export function toStoreError(cause: unknown, location: string): StoreError {
  if (cause instanceof StoreError) return cause;
  const reason = cause instanceof Error ? describeError(cause) : String(cause);
  const advice = findAdvice(cause);
  if (advice !== undefined)
    return new StoreError("store_unreachable", `${location} cannot be used: ${reason}; ${advice}`, {
      cause,
    });
  const code = classify(cause);
  return new StoreError(code, errorMessages[code](location, reason), { cause });
}

const errorMessages: Record<DatabaseErrorCode, (location: string, reason: string) => string> = {
  store_locked: (location, reason) => `${location} is locked (${reason}); try again`,
  store_full: (location, reason) =>
    `${location} cannot store more (${reason}); free space on the database server, or reduce retention_days`,
  store_corrupt: (location, reason) => `${location} is damaged (${reason}); restore a backup`,
  store_newer: (_location, reason) => reason,
  store_unreachable: (location, reason) =>
    `${location} cannot be reached (${reason}); check that PostgreSQL is running and the address is correct`,
  store_failed: (location, reason) => `${location} failed: ${reason}`,
};

/** Node reports failed attempts for several addresses of a host together, with an empty message. */
function describeError(cause: Error): string {
  if (cause.message === "" && cause instanceof AggregateError)
    return cause.errors.map((error) => (error instanceof Error ? error.message : "")).join(", ");
  return cause.message;
}

/** Returns what the operator must do about errors that retries cannot solve. */
function findAdvice(cause: unknown): string | undefined {
  if (!(cause instanceof Error)) return undefined;
  if (cause.message.includes("client password must be")) return "add the password to the URL";
  const code = "code" in cause ? String(cause.code) : "";
  if (code === "3D000") return "create the database, or correct the URL";
  if (code.startsWith("28")) return "correct the user or password in the URL";
  return code === "42501" ? "grant the user permission to create and use the schema" : undefined;
}

function classify(cause: unknown): DatabaseErrorCode {
  if (!(cause instanceof Error)) return "store_failed";
  const code = "code" in cause ? String(cause.code) : "";
  const known = codeClasses.find(([pattern]) => pattern.test(code))?.[1];
  if (known !== undefined) return known;
  return /connection|timeout|ended|terminat/i.test(cause.message)
    ? "store_unreachable"
    : "store_failed";
}

/** SQLSTATE codes, and error codes of Node. */
const codeClasses: readonly [RegExp, DatabaseErrorCode][] = [
  [/^(?:08|57P|53300$)/, "store_unreachable"],
  [/^(?:53100|ENOSPC)$/, "store_full"],
  [/^(?:XX001|XX002)$/, "store_corrupt"],
  [/^(?:25006|55P03)$/, "store_unreachable"],
  [
    /^(?:ECONN\w+|ENOTFOUND|EHOSTUNREACH|ENETUNREACH|ETIMEDOUT|EPIPE|EAI_AGAIN|ENOENT)$/,
    "store_unreachable",
  ],
];
