import { cell } from "../cell.ts";
import type { Session, SessionState, SignInProblem } from "./page.ts";
import type { World } from "../browser/world.ts";

/** `GET /api/session` */
interface SessionReply {
  readonly version: string;
  readonly token_required: boolean;
  readonly signed_in: boolean;
}

/** Whether the gateway lets this page in. The token itself is never kept: the browser holds a cookie that no script sees. */
export function createSession({ base, fetch }: Pick<World, "base" | "fetch">): Session {
  const state = cell<SessionState>({ is: "checking" });
  const address = `${base}/api/session`;
  /** Of what was asked last: an earlier one may answer later. */
  let asked = 0;

  const take = (number: number, reply: SessionReply) => {
    if (number !== asked) return;
    const { version, token_required, signed_in } = reply;
    const next: SessionState = signed_in
      ? { is: "open", version, withToken: token_required }
      : { is: "needs token" };
    if (JSON.stringify(next) !== JSON.stringify(state.get())) state.set(next);
  };

  const check = async () => {
    const number = (asked += 1);
    try {
      take(number, await read(await fetch(address, { cache: "no-store" })));
    } catch {
      // Who was let in already finds out by the stream that nobody answers.
      if (number === asked && state.get().is !== "open") state.set({ is: "unreachable" });
    }
  };

  return {
    state,
    check,
    async signIn(token) {
      const number = (asked += 1);
      try {
        const body = JSON.stringify({ token });
        const headers = { "content-type": "application/json" };
        take(number, await read(await fetch(address, { method: "POST", headers, body })));
        return undefined;
      } catch (error) {
        return error instanceof Refusal ? error.problem : { is: "unreachable" };
      }
    },
    async signOut() {
      const number = (asked += 1);
      try {
        take(number, await read(await fetch(address, { method: "DELETE" })));
      } catch {
        await check(); // Whether anything came of it.
      }
    },
  };
}

class Refusal extends Error {
  readonly problem: SignInProblem;

  constructor(problem: SignInProblem) {
    super(problem.is);
    this.problem = problem;
  }
}

async function read(reply: Response): Promise<SessionReply> {
  if (!reply.ok) throw new Refusal(await problemIn(reply));
  return (await reply.json()) as SessionReply;
}

async function problemIn(reply: Response): Promise<SignInProblem> {
  if (reply.status === 401) return { is: "wrong token" };
  const seconds = Number(reply.headers.get("retry-after"));
  if (reply.status === 429 && seconds > 0) return { is: "too many tries", seconds };
  // A proxy in between may answer with a page of its own.
  const body = (await reply.json().catch(() => ({}))) as { error?: { message?: string } };
  const message = body.error?.message ?? `the gateway answered with status ${reply.status}`;
  return { is: "other", message };
}
