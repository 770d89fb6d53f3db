export interface ChatApiErrorFacts {
  /** Of HTTP; 0: there was no answer. */
  status: number;
  code: string;
  param?: string;
  revision?: number;
  stamp?: number;
  decision?: string;
  reason?: string;
  detail?: string;
  cause?: unknown;
}

/** What a gateway refused, or why it could not be asked. */
export class ChatApiError extends Error {
  readonly status: number;
  readonly code: string;
  /** The field that is wrong. */
  readonly param: string | undefined;
  /** Of a conflict: what the chat is at now. */
  readonly revision: number | undefined;
  readonly stamp: number | undefined;
  /** Of an approval that was decided before: how. */
  readonly decision: string | undefined;
  /** Why there is no store: `store_in_use`, another gateway uses it. */
  readonly reason: string | undefined;
  /** What is behind the reason, for people. */
  readonly detail: string | undefined;

  constructor(message: string, facts: ChatApiErrorFacts) {
    const { status, code, param, revision, stamp, decision, reason, detail, cause } = facts;
    super(message, cause === undefined ? undefined : { cause });
    this.name = "ChatApiError";
    this.status = status;
    this.code = code;
    this.param = param;
    this.revision = revision;
    this.stamp = stamp;
    this.decision = decision;
    this.reason = reason;
    this.detail = detail;
  }
}

/** The error in an answer. What stands between here and the gateway answers in words of its own. */
export function errorOf(status: number, text: string): ChatApiError {
  const { error, revision, stamp, approval, reason, detail } = objectOf(parsed(text));
  const { code, message, param } = objectOf(error);
  const { decision } = objectOf(objectOf(approval)["resolution"]);
  return new ChatApiError(
    typeof message === "string" ? message : `the gateway answered with status ${status}`,
    {
      status,
      code: typeof code === "string" ? code : "unknown",
      ...(typeof param === "string" ? { param } : {}),
      ...(typeof revision === "number" ? { revision } : {}),
      ...(typeof stamp === "number" ? { stamp } : {}),
      ...(typeof decision === "string" ? { decision } : {}),
      ...(typeof reason === "string" ? { reason } : {}),
      ...(typeof detail === "string" ? { detail } : {}),
    },
  );
}

function parsed(text: string): unknown {
  try {
    return JSON.parse(text);
  } catch {
    return undefined;
  }
}

function objectOf(value: unknown): Readonly<Record<string, unknown>> {
  return typeof value === "object" && value !== null ? (value as Record<string, unknown>) : {};
}
