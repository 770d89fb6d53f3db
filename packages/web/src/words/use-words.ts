import { createContext, useContext } from "react";
import type { Language, WordSet } from "./words.ts";

export const LanguageContext = createContext<Language>("en");

export function useWords<Words>(set: WordSet<Words>): Words {
  return set[useContext(LanguageContext)];
}
