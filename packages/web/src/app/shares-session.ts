import type { Page } from "../state/page.ts";

/** The tabs of a browser have one session: whoever signs in or out in one does so in all of them. */
export function sharesSession({ session }: Page): void {
  const tabs = new BroadcastChannel("deltawire session");
  session.state.subscribe(() => {
    const { is } = session.state.get();
    // A channel has no origin to name: it is heard within its own only.
    // oxlint-disable-next-line unicorn/require-post-message-target-origin
    if (is === "open" || is === "needs token") tabs.postMessage(is);
  });
  tabs.addEventListener("message", ({ data }: MessageEvent<string>) => {
    if (data !== session.state.get().is) void session.check();
  });
}
