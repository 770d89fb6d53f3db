import type { EditRejection, EditRejectionCode } from "./edit.ts";

export function rejectEdit(code: EditRejectionCode, reason: string): EditRejection {
  return { ok: false, code, reason };
}

export function rejectUnknownNode(id: string): EditRejection {
  return rejectEdit("node_not_found", `the chat has no message ${quoteId(id)}`);
}

export function rejectUnknownVersion(id: string): EditRejection {
  return rejectEdit("version_not_found", `the message has no version ${quoteId(id)}`);
}

export function rejectStillRunning(): EditRejection {
  return rejectEdit("still_running", "the answer is still running; stop it first");
}

export function rejectBadValue(problems: readonly string[]): EditRejection {
  return rejectEdit("invalid_value", problems.join("; "));
}

function quoteId(id: string): string {
  return JSON.stringify(id.slice(0, 100));
}
