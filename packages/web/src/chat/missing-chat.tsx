import { usePage } from "../hooks/use-page.ts";
import { Button } from "../parts/button.tsx";
import { Empty } from "../parts/signs.tsx";
import { useWords } from "../words/use-words.ts";
import { chatWords } from "./words.ts";

/** In place of a chat that the gateway does not have; one that was deleted lately it still has. */
export function MissingChat() {
  const page = usePage();
  const words = useWords(chatWords);
  return (
    <Empty title={words.missingTitle} text={words.missingText}>
      <Button icon="add" kind="primary" onClick={() => page.router.go({ is: "new" })}>
        {words.newChat}
      </Button>
    </Empty>
  );
}
