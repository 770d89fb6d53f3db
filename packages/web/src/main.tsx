import { StrictMode, type ReactNode } from "react";
import { createRoot } from "react-dom/client";
import { Entrance } from "./app/entrance.tsx";
import { browserWorld } from "./browser/world.ts";
import { PageContext, usePage } from "./hooks/use-page.ts";
import { createPage } from "./state/create-page.ts";
import "./parts/theme.css";
import "./parts/parts.css";
import { usePicked } from "./hooks/use-cell.ts";
import type { PreferencesCell } from "./state/preferences.ts";
import { LanguageContext } from "./words/use-words.ts";
import type { Page } from "./state/page.ts";
import { appWords } from "./app/words.ts";

const place = document.querySelector("#page");
if (place === null) throw new Error("the page has no place to be drawn in");

const page = createPage(browserWorld(window));
showPreferences(page.preferences);
offersReload(page);
sharesSession(page);
createRoot(place).render(
  <StrictMode>
    <PageContext value={page}>
      <Spoken>
        <Entrance />
      </Spoken>
    </PageContext>
  </StrictMode>,
);

/** Theme and language of the whole document, now and whenever they change. */
function showPreferences(preferences: PreferencesCell): void {
  const dark = matchMedia("(prefers-color-scheme: dark)");
  const show = () => {
    const { theme, language } = preferences.get();
    const root = document.documentElement;
    root.dataset["theme"] = theme === "system" ? (dark.matches ? "dark" : "light") : theme;
    root.lang = language === "zh" ? "zh-CN" : "en";
  };
  preferences.subscribe(show);
  dark.addEventListener("change", show);
  show();
}

function Spoken({ children }: { children: ReactNode }) {
  const language = usePicked(usePage().preferences, (preferences) => preferences.language);
  return <LanguageContext value={language}>{children}</LanguageContext>;
}

/** A gateway that was updated no longer has the parts that an old page loads on demand. */
function offersReload({ toasts, preferences }: Page): void {
  window.addEventListener("vite:preloadError", () => {
    const words = appWords[preferences.get().language];
    toasts.show({
      kind: "error",
      text: words.outdated,
      action: { label: words.reload, run: () => window.location.reload() },
    });
  });
}

/** The tabs of a browser have one session: whoever signs in or out in one does so in all of them. */
function sharesSession({ session }: Page): void {
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
