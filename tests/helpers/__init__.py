"""What more than one test file uses: oracles written from the definitions, random inputs, files,
engines, a browser.
"""
