import { createContext, useContext } from "react";
import type { Language, LocalizedMessages } from "./define-messages.ts";

export const LanguageContext = createContext<Language>("en");

export function useMessages<Messages>(messages: LocalizedMessages<Messages>): Messages {
  return messages[useContext(LanguageContext)];
}
