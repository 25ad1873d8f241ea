import js from "@eslint/js";
import globals from "globals";

export default [
  { ignores: ["static/vendor/**", "node_modules/**"] },
  js.configs.recommended,
  {
    languageOptions: { ecmaVersion: 2024, sourceType: "module", globals: globals.browser },
    rules: {
      curly: ["error", "multi-line"],
      eqeqeq: "error",
      "max-depth": ["error", 3],
      "max-lines": ["error", { max: 300, skipComments: true }],
      "max-lines-per-function": ["error", { max: 80, skipComments: true, skipBlankLines: true }],
      "no-eval": "error",
      "no-implicit-coercion": ["error", { allow: ["!!"] }],
      "no-restricted-properties": [
        "error",
        { property: "innerHTML", message: "Text is shown with textContent; structure with el() or <template>." },
        { property: "outerHTML", message: "Text is shown with textContent; structure with el() or <template>." },
        { property: "insertAdjacentHTML", message: "Text is shown with textContent; structure with el() or <template>." },
      ],
      "no-var": "error",
      "prefer-const": "error",
      semi: "error",
    },
  },
  { files: ["tests/**", "vendor/**"], languageOptions: { globals: globals.node } },
];
