import type { ReactNode } from "react";
import { usePicked } from "../hooks/use-cell.ts";
import { usePage } from "../hooks/use-page.ts";
import type { PreferencesCell } from "../state/preferences.ts";
import { LanguageContext } from "../words/use-words.ts";

/** Theme and language of the whole document, now and whenever they change. */
export function showPreferences(preferences: PreferencesCell): void {
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

export function Spoken({ children }: { children: ReactNode }) {
  const language = usePicked(usePage().preferences, (preferences) => preferences.language);
  return <LanguageContext value={language}>{children}</LanguageContext>;
}
