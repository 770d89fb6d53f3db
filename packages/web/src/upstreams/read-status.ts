import { cell, type Cell } from "../state/cell.ts";
import type { CodexStatus, GatewayStatus, Lesson, UpstreamStatus } from "./gateway-status.ts";

type StatusState =
  | { readonly is: "loading" }
  | { readonly is: "failed"; readonly message: string }
  | { readonly is: "ready"; readonly status: GatewayStatus };

export interface StatusReader {
  readonly state: Cell<StatusState>;
  read(): Promise<void>;
  /** Of one upstream, or all. */
  forgetLessons(upstream?: string): Promise<void>;
}

/** How the gateway is doing, asked for when somebody looks. */
export function createStatusReader(fetch: typeof globalThis.fetch): StatusReader {
  const state = cell<StatusState>({ is: "loading" });
  const ask = async <Reply>(path: string, method = "GET"): Promise<Reply> => {
    const reply = await fetch(path, { method });
    const body = (await reply.json()) as Reply & { error?: { message?: string } };
    if (!reply.ok) throw new Error(body.error?.message ?? `${path}: ${reply.status}`);
    return body;
  };
  const read = async () => {
    try {
      const [{ upstreams }, { lessons }, codex] = await Promise.all([
        ask<{ upstreams: UpstreamStatus[] }>("/deltawire/upstreams"),
        ask<{ lessons: Lesson[] }>("/deltawire/lessons"),
        ask<CodexStatus>("/deltawire/codex"),
      ]);
      state.set({ is: "ready", status: { upstreams, lessons, codex } });
    } catch (error) {
      // What was read before is better than nothing; the bar says that the connection is lost.
      if (state.get().is !== "ready")
        state.set({
          is: "failed",
          message: error instanceof Error ? error.message : String(error),
        });
    }
  };
  return {
    state,
    read,
    async forgetLessons(upstream) {
      const query = upstream === undefined ? "" : `?upstream=${encodeURIComponent(upstream)}`;
      await ask(`/deltawire/lessons${query}`, "DELETE");
      await read();
    },
  };
}
