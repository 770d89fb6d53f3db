import { useCommands } from "../hooks/use-commands.ts";
import { usePage } from "../hooks/use-page.ts";
import { useWords } from "../words/use-words.ts";
import { listWords } from "./words.ts";

export const searchBoxId = "list-search";

/** `show`: brings the list to where it can be seen, if it is hidden. */
export function useListCommands(show: () => void): void {
  const page = usePage();
  const words = useWords(listWords);
  const startNew = () => page.router.go({ is: "new" });
  useCommands([
    {
      id: "list.new",
      title: words.newChat,
      group: words.chats,
      keys: "mod+shift+o",
      run: startNew,
    },
    {
      id: "list.new-by-letter",
      title: words.newChat,
      group: words.chats,
      keys: "n",
      hidden: true,
      run: startNew,
    },
    {
      id: "list.search",
      title: words.focusSearch,
      group: words.chats,
      keys: "/",
      run: () => {
        show();
        requestAnimationFrame(() => document.getElementById(searchBoxId)?.focus());
      },
    },
  ]);
}
