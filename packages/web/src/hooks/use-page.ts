import { createContext, useContext } from "react";
import type { Page } from "../state/page.ts";

export const PageContext = createContext<Page | undefined>(undefined);

export function usePage(): Page {
  const page = useContext(PageContext);
  if (page === undefined) throw new Error("there is no page around this component");
  return page;
}
