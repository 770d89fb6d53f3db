import { StrictMode, type ReactNode } from "react";
import { createRoot } from "react-dom/client";
import { SessionGate } from "./app/session-gate.tsx";
import { createBrowserEnvironment } from "./browser/browser-environment.ts";
import { AppStoreContext, useAppStore } from "./hooks/use-app-store.ts";
import { createAppStore } from "./state/create-app-store.ts";
import "./ui/theme.css";
import "./ui/ui.css";
import { useCellSelector } from "./hooks/use-cell.ts";
import type { PreferencesCell } from "./state/preferences.ts";
import { LanguageContext } from "./messages/use-messages.ts";
import type { AppStore } from "./state/app-store.ts";
import { appMessages } from "./app/messages.ts";

const container = document.querySelector("#page");
if (container === null) throw new Error("the document has no element #page");

const app = createAppStore(createBrowserEnvironment(window));
applyPreferences(app.preferences);
offerReloadOnPreloadError(app);
syncSessionAcrossTabs(app);
createRoot(container).render(
  <StrictMode>
    <AppStoreContext value={app}>
      <LanguageProvider>
        <SessionGate />
      </LanguageProvider>
    </AppStoreContext>
  </StrictMode>,
);

/** Applies the theme and language to the document, now and whenever they change. */
function applyPreferences(preferences: PreferencesCell): void {
  const darkQuery = matchMedia("(prefers-color-scheme: dark)");
  const apply = () => {
    const { theme, language } = preferences.get();
    const root = document.documentElement;
    root.dataset["theme"] = theme === "system" ? (darkQuery.matches ? "dark" : "light") : theme;
    root.lang = language === "zh" ? "zh-CN" : "en";
  };
  preferences.subscribe(apply);
  darkQuery.addEventListener("change", apply);
  apply();
}

function LanguageProvider({ children }: { children: ReactNode }) {
  const language = useCellSelector(
    useAppStore().preferences,
    (preferences) => preferences.language,
  );
  return <LanguageContext value={language}>{children}</LanguageContext>;
}

/** An updated gateway no longer serves the chunks that an old page loads on demand. */
function offerReloadOnPreloadError({ toasts, preferences }: AppStore): void {
  window.addEventListener("vite:preloadError", () => {
    const t = appMessages[preferences.get().language];
    toasts.show({
      kind: "error",
      text: t.outdated,
      action: { label: t.reload, run: () => window.location.reload() },
    });
  });
}

/** All tabs of a browser share one session: signing in or out in one tab applies to all. */
function syncSessionAcrossTabs({ session }: AppStore): void {
  const tabs = new BroadcastChannel("deltawire session");
  session.state.subscribe(() => {
    const { status } = session.state.get();
    // A BroadcastChannel takes no target origin: it only reaches its own origin.
    // oxlint-disable-next-line unicorn/require-post-message-target-origin
    if (status === "open" || status === "needs_token") tabs.postMessage(status);
  });
  tabs.addEventListener("message", ({ data }: MessageEvent<string>) => {
    if (data !== session.state.get().status) void session.check();
  });
}
