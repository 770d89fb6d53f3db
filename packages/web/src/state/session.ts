import { createCell } from "../cell.ts";
import type { Session, SessionState, SignInProblem } from "./app-store.ts";
import type { BrowserEnvironment } from "../browser/browser-environment.ts";

/** Reply of `/api/session`. */
interface SessionReply {
  readonly version: string;
  readonly token_required: boolean;
  readonly signed_in: boolean;
}

/** Tracks whether the page is signed in. The token is never stored: the session is an HttpOnly cookie. */
export function createSession({
  baseUrl,
  fetch,
}: Pick<BrowserEnvironment, "baseUrl" | "fetch">): Session {
  const state = createCell<SessionState>({ status: "checking" });
  const url = `${baseUrl}/api/session`;
  /** Number of the latest request. Replies to earlier requests are ignored. */
  let latestRequest = 0;

  const applyReply = (number: number, reply: SessionReply) => {
    if (number !== latestRequest) return;
    const { version, token_required, signed_in } = reply;
    const next: SessionState = signed_in
      ? { status: "open", version, hasToken: token_required }
      : { status: "needs_token" };
    if (JSON.stringify(next) !== JSON.stringify(state.get())) state.set(next);
  };

  const check = async () => {
    const number = (latestRequest += 1);
    try {
      applyReply(number, await parseSessionReply(await fetch(url, { cache: "no-store" })));
    } catch {
      // If the session is open, the event stream reports the lost connection.
      if (number === latestRequest && state.get().status !== "open")
        state.set({ status: "unreachable" });
    }
  };

  return {
    state,
    check,
    async signIn(token) {
      const number = (latestRequest += 1);
      try {
        const body = JSON.stringify({ token });
        const headers = { "content-type": "application/json" };
        applyReply(
          number,
          await parseSessionReply(await fetch(url, { method: "POST", headers, body })),
        );
        return undefined;
      } catch (error) {
        return error instanceof SignInError ? error.problem : { type: "unreachable" };
      }
    },
    async signOut() {
      const number = (latestRequest += 1);
      try {
        applyReply(number, await parseSessionReply(await fetch(url, { method: "DELETE" })));
      } catch {
        await check(); // The request may have succeeded.
      }
    },
  };
}

class SignInError extends Error {
  readonly problem: SignInProblem;

  constructor(problem: SignInProblem) {
    super(problem.type);
    this.problem = problem;
  }
}

async function parseSessionReply(reply: Response): Promise<SessionReply> {
  if (!reply.ok) throw new SignInError(await toSignInProblem(reply));
  return (await reply.json()) as SessionReply;
}

async function toSignInProblem(reply: Response): Promise<SignInProblem> {
  if (reply.status === 401) return { type: "wrong_token" };
  const seconds = Number(reply.headers.get("retry-after"));
  if (reply.status === 429 && seconds > 0) return { type: "too_many_attempts", seconds };
  // A proxy in between may answer with an HTML error page.
  const body = (await reply.json().catch(() => ({}))) as { error?: { message?: string } };
  const message = body.error?.message ?? `the gateway responded with status ${reply.status}`;
  return { type: "other", message };
}
