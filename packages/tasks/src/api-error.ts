export interface ChatApiErrorOptions {
  /** HTTP status; 0 if no response was received. */
  status: number;
  code: string;
  /** The request field at fault. */
  param?: string | undefined;
  /** On a conflict: the current revision of the chat. */
  revision?: number | undefined;
  /** On a conflict: the current change stamp of the chat. */
  stamp?: number | undefined;
  /** If the approval has already been resolved: its decision. */
  decision?: string | undefined;
  /** Why the store is unavailable, e.g. `store_in_use` if another gateway has it open. */
  reason?: string | undefined;
  /** Human-readable explanation of `reason`. */
  detail?: string | undefined;
  cause?: unknown;
}

/** Thrown if the gateway rejects a request or cannot be reached. */
export class ChatApiError extends Error {
  declare readonly status: ChatApiErrorOptions["status"];
  declare readonly code: ChatApiErrorOptions["code"];
  declare readonly param: ChatApiErrorOptions["param"];
  declare readonly revision: ChatApiErrorOptions["revision"];
  declare readonly stamp: ChatApiErrorOptions["stamp"];
  declare readonly decision: ChatApiErrorOptions["decision"];
  declare readonly reason: ChatApiErrorOptions["reason"];
  declare readonly detail: ChatApiErrorOptions["detail"];

  constructor(message: string, { cause, ...fields }: ChatApiErrorOptions) {
    super(message, cause === undefined ? undefined : { cause });
    this.name = "ChatApiError";
    Object.assign(this, fields);
  }
}

/** Parses an error response. If the body is not the gateway's, for example a proxy's error page, only the status is reported. */
export function parseApiError(status: number, text: string): ChatApiError {
  const { error, revision, stamp, approval, reason, detail } = asObject(tryParseJson(text));
  const { code, message, param } = asObject(error);
  const { decision } = asObject(asObject(approval)["resolution"]);
  return new ChatApiError(asString(message) ?? `the gateway responded with status ${status}`, {
    status,
    code: asString(code) ?? "unknown",
    param: asString(param),
    revision: asNumber(revision),
    stamp: asNumber(stamp),
    decision: asString(decision),
    reason: asString(reason),
    detail: asString(detail),
  });
}

function asString(value: unknown): string | undefined {
  return typeof value === "string" ? value : undefined;
}

function asNumber(value: unknown): number | undefined {
  return typeof value === "number" ? value : undefined;
}

function tryParseJson(text: string): unknown {
  try {
    return JSON.parse(text);
  } catch {
    return undefined;
  }
}

function asObject(value: unknown): Readonly<Record<string, unknown>> {
  return typeof value === "object" && value !== null ? (value as Record<string, unknown>) : {};
}
