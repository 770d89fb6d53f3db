import { cell, type Cell } from "../cell.ts";
import type { Page } from "../state/page.ts";
import type {
  CodexStatus,
  GatewayStatus,
  Lesson,
  McpStatus,
  UpstreamStatus,
} from "./gateway-status.ts";

type StatusState =
  | { readonly is: "loading" }
  | { readonly is: "failed"; readonly message: string }
  | { readonly is: "ready"; readonly status: GatewayStatus };

export interface StatusReader {
  readonly state: Cell<StatusState>;
  /** All of it. */
  read(): Promise<void>;
  /** What changes by itself: how upstreams are doing, and what was learned. */
  look(): Promise<void>;
  /** Of one upstream, or all. Rejects where the gateway refuses it. */
  forgetLessons(upstream?: string): Promise<void>;
  /** How Codex is connected with this model. Rejects where the gateway does not tell. */
  chooseModel(model: string): Promise<void>;
}

/** How the gateway is doing, asked for when somebody looks. */
export function createStatusReader(page: Pick<Page, "ask">): StatusReader {
  const state = cell<StatusState>({ is: "loading" });
  const known = () => {
    const now = state.get();
    return now.is === "ready" ? now.status : undefined;
  };
  const ask = async <Reply>(path: string, method = "GET"): Promise<Reply> => {
    const reply = await page.ask(path, { method });
    const body = (await reply.json()) as Reply & { error?: { message?: string } };
    if (!reply.ok) throw new Error(body.error?.message ?? `${path}: ${reply.status}`);
    return body;
  };
  /** Of what was asked last: an earlier one may answer later, with a model that is not chosen any more. */
  let codexAsked = 0;
  const askCodex = async (model: string | undefined) => {
    const number = (codexAsked += 1);
    const query = model === undefined ? "" : `?model=${encodeURIComponent(model)}`;
    const codex = await ask<CodexStatus>(`/deltawire/codex${query}`);
    return number === codexAsked ? codex : undefined;
  };

  const readWith = async (hasCodex: boolean) => {
    try {
      const [{ upstreams, mcp = [] }, { lessons }, asked] = await Promise.all([
        ask<{ upstreams: UpstreamStatus[]; mcp?: McpStatus[] }>("/deltawire/upstreams"),
        ask<{ lessons: Lesson[] }>("/deltawire/lessons"),
        hasCodex ? undefined : askCodex(known()?.codex.model),
      ]);
      const codex = asked ?? known()?.codex;
      if (codex !== undefined)
        state.set({ is: "ready", status: { upstreams, mcp, lessons, codex } });
    } catch (error) {
      // What was read before is better than nothing; the bar says that the connection is lost.
      if (state.get().is !== "ready")
        state.set({
          is: "failed",
          message: error instanceof Error ? error.message : String(error),
        });
    }
  };
  const look = () => readWith(known() !== undefined);
  return {
    state,
    read: () => readWith(false),
    look,
    async forgetLessons(upstream) {
      const query = upstream === undefined ? "" : `?upstream=${encodeURIComponent(upstream)}`;
      await ask(`/deltawire/lessons${query}`, "DELETE");
      await look();
    },
    async chooseModel(model) {
      const codex = await askCodex(model);
      const status = known();
      if (status !== undefined && codex !== undefined)
        state.set({ is: "ready", status: { ...status, codex } });
    },
  };
}
