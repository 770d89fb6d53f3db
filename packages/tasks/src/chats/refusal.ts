import type { Refusal, RefusalCode } from "./edit.ts";

export function refused(code: RefusalCode, reason: string): Refusal {
  return { ok: false, code, reason };
}

export function unknownNode(id: string): Refusal {
  return refused("unknown_node", `there is no message ${named(id)} in this chat`);
}

export function unknownVersion(id: string): Refusal {
  return refused("unknown_version", `the message has no version ${named(id)}`);
}

export function stillRunning(): Refusal {
  return refused("still_running", "the answer is still running: stop it first");
}

export function badValue(problems: readonly string[]): Refusal {
  return refused("bad_value", problems.join("; "));
}

function named(id: string): string {
  return JSON.stringify(id.slice(0, 100));
}
